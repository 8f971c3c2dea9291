"""Whose id may be closed for good."""

import pytest

from okey_runtime.erasable import PlayerUnknown, refuse_unknown


def test_an_id_that_nobody_has_seen_is_closed_only_where_that_is_said() -> None:
    refuse_unknown("ayse", is_known=True, is_allowed=False)
    refuse_unknown("ayse", is_known=False, is_allowed=True)
    with pytest.raises(PlayerUnknown, match=r"'ayse'.*--unknown"):
        refuse_unknown("ayse", is_known=False, is_allowed=False)
