"""The rating service's messages as its records."""

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.rating.v1 import rating_pb2
from services.rating.wire import ResultUnknown, match_from


def test_a_result_that_this_version_does_not_know_is_refused() -> None:
    """A newer engine may report one; it repeats the report until a newer service is there."""
    seats = [rating_pb2.MatchSeat(player_id="ayse"), rating_pb2.MatchSeat(house=True)]
    report = rating_pb2.RecordMatchRequest(
        match_id="t-1",
        variant=common_pb2.VARIANT_CANAK,
        mode=common_pb2.MODE_NORMAL,
        seats=seats,
    )
    with pytest.raises(ResultUnknown) as refused:
        match_from(report)
    assert refused.value.reason == "RESULT_UNKNOWN"
