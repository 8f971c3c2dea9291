import contextvars

import pytest

from okey_runtime.identity import (
    Identity,
    PlayerReserved,
    Role,
    current_identity,
    display_name,
    refuse_reserved,
    set_current_identity,
)

AYSE = Identity("ayse", frozenset({Role.PLAYER, Role.OPERATOR}), "Ayşe", 0)


def test_a_caller_has_any_of_the_roles_it_holds() -> None:
    assert AYSE.has_any(frozenset({Role.PLAYER, Role.ENGINE}))
    assert not AYSE.has_any(frozenset({Role.ENGINE}))
    assert not AYSE.has_any(frozenset())


def test_only_a_player_owns_seats() -> None:
    """A service or an operator may be called like somebody who plays."""
    assert AYSE.player == "ayse"
    assert Identity("ayse", frozenset(Role) - {Role.PLAYER}, "", 0).player == ""


def test_no_character_of_a_shown_name_steers_anything() -> None:
    """All of Unicode, half a surrogate pair too, which no message could carry."""
    shown = display_name("".join(map(chr, range(0x110000))))
    assert shown.isprintable()
    assert "ş" in shown
    assert display_name(shown) == shown


def test_outside_of_a_call_there_is_no_caller() -> None:
    with pytest.raises(LookupError, match="no caller"):
        contextvars.Context().run(current_identity)


def test_a_public_call_has_no_caller_even_after_another() -> None:
    def serve_both() -> None:
        set_current_identity(AYSE)
        assert current_identity() is AYSE
        set_current_identity(None)
        current_identity()

    with pytest.raises(LookupError):
        contextvars.copy_context().run(serve_both)


@pytest.mark.parametrize(
    "player_id",
    [
        "house:rake", "house:", "system:issuance", "bot:7", "bots:7", "bots", "engine", "gateway",
        "identity",
        "player:ayse", "escrow:t", "pot:t-1", "kasa:t",
    ],
)  # fmt: skip
def test_an_id_of_the_house_is_no_players(player_id: str) -> None:
    with pytest.raises(PlayerReserved, match="no player's"):
        refuse_reserved(player_id)


@pytest.mark.parametrize(
    "player_id", ["ayse", "house", "robot:7", "auth0:house:1", "player", "players:1", "pot"]
)
def test_a_players_id_may_look_like_much(player_id: str) -> None:
    refuse_reserved(player_id)
