"""The wallet's messages as its commands."""

import pytest

from okey.api.wallet.v1 import wallet_pb2
from services.wallet.wire import OutcomeMissing, outcome_from


def test_a_settlement_that_names_no_outcome_is_refused() -> None:
    """M4: the wallet is told who won and how, it never guesses."""
    with pytest.raises(OutcomeMissing) as refused:
        outcome_from(wallet_pb2.MatchOutcome())
    assert refused.value.reason == "OUTCOME_MISSING"
