"""Whose id may be closed for good."""

import pytest

from okey_runtime.erasable import PlayerReserved, PlayerUnknown, refuse_reserved, refuse_unknown


@pytest.mark.parametrize(
    "player_id", ["house:rake", "house:", "system:issuance", "bot:7", "bots:7", "bots", "engine"]
)
def test_an_id_of_the_house_is_no_players(player_id: str) -> None:
    with pytest.raises(PlayerReserved, match="only a player's"):
        refuse_reserved(player_id)


@pytest.mark.parametrize("player_id", ["ayse", "house", "robot:7", "auth0:house:1", "player"])
def test_a_players_id_may_look_like_much(player_id: str) -> None:
    refuse_reserved(player_id)


def test_an_id_that_nobody_has_seen_is_closed_only_where_that_is_said() -> None:
    refuse_unknown("ayse", is_known=True, is_allowed=False)
    refuse_unknown("ayse", is_known=False, is_allowed=True)
    with pytest.raises(PlayerUnknown, match=r"'ayse'.*--unknown"):
        refuse_unknown("ayse", is_known=False, is_allowed=False)
