import contextvars

import pytest

from okey_runtime.identity import (
    Identity,
    NameUnfit,
    PlayerReserved,
    Role,
    current_identity,
    display_name,
    fit_name,
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


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("\U0001d159", "U+1D159 MUSICAL SYMBOL NULL NOTEHEAD"),
        (" \U0001d159\U0001d159 ", "U+1D159 MUSICAL SYMBOL NULL NOTEHEAD"),
        ("\u2800", "U+2800 BRAILLE PATTERN BLANK"),
        ("\u3164", "U+3164 HANGUL FILLER"),
        ("\u115f\u1160", "U+115F HANGUL CHOSEONG FILLER"),
        ("\uffa0", "U+FFA0 HALFWIDTH HANGUL FILLER"),
        ("\u200b", "U+200B ZERO WIDTH SPACE"),
        ("?!", "U+003F QUESTION MARK"),
        ("\u0301", "U+0301 COMBINING ACUTE ACCENT"),
        ("Ay\u015fe" + 5 * "\u0336", "U+0336 COMBINING LONG STROKE OVERLAY"),
        ("A\u0489\u0489\u0300\u0301\u0302B", "U+0302 COMBINING CIRCUMFLEX ACCENT"),
        ("Ay\u015fe \u0316", "U+0316 COMBINING GRAVE ACCENT BELOW"),
    ],
)  # fmt: skip
def test_a_name_that_looks_empty_or_breaks_out_is_refused_by_its_character(
    name: str, refused: str
) -> None:
    with pytest.raises(NameUnfit) as caught:
        fit_name(name, 24)
    assert caught.value.metadata == {"character": refused}
    [violation] = caught.value.violations
    assert violation.description.startswith(f"{refused} is ")


def test_an_empty_name_is_told_so() -> None:
    with pytest.raises(NameUnfit, match="name: is empty"):
        fit_name(" \n", 24)


@pytest.mark.parametrize(
    "name",
    [
        "Ayşe", "I\u0307pek", "Nguye\u0302\u0303n", "\u0939\u093f\u0928\u094d\u0926\u0940",
        "\u05e9\u05c1\u05b8\u0591\u05dc\u05d5\u05b9\u05dd", "\u0e01\u0e33\u0e49", "7",
        "Ada \u2764\ufe0f", "\U0001f3bc Can",
    ],
)  # fmt: skip
def test_names_of_every_script_are_fit(name: str) -> None:
    """With the marks that they are written with, and with a picture beside a letter."""
    assert fit_name(name, 24) == display_name(name) == name


def test_a_name_of_somebody_elses_token_loses_what_is_unfit() -> None:
    """A token is not refused for its name: it shows what is left, maybe nothing."""
    assert display_name("\U0001d159") == display_name("\u3164 \u2800") == ""
    assert display_name("\u0301Ay\u015fe" + 40 * "\u0336") == "Ay\u015fe" + 4 * "\u0336"


def test_a_long_name_is_cut_and_judged_by_what_is_left() -> None:
    assert fit_name("x" * 30, 24) == "x" * 24
    with pytest.raises(NameUnfit, match=r"U\+0021 EXCLAMATION MARK"):
        fit_name("!" * 24 + "Ada", 24)


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
