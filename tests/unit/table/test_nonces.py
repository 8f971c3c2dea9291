"""Nonces of players for the coming shuffle."""

from collections.abc import Callable

import pytest

from okey.table import commands as c
from okey.table import events as e
from okey.table.errors import (
    InvalidNonce,
    NonceAlreadyAdded,
    NonceTooLate,
    NotSeated,
)
from tests.factories import (
    PLAYERS,
    Driver,
    dealt,
    klasik,
    nachspiel,
    opened,
    paid,
    paused,
    seated,
    settling,
    starting,
    the,
    tie_break,
)

NONCE = bytes(range(32))


# Nonces


def test_one_nonce_each_never_replaced() -> None:
    """T9: 32 bytes, once, from a seat; another is refused."""
    table = seated()
    assert table.do(c.AddNonce(PLAYERS[0], NONCE)) == (e.NonceAdded(0, NONCE),)
    table.refused(c.AddNonce(PLAYERS[0], NONCE), NonceAlreadyAdded)
    table.refused(c.AddNonce("x", NONCE), NotSeated)
    table.do(c.AddNonce(PLAYERS[1], NONCE))


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_nonce_has_32_bytes(size: int) -> None:
    """T9: an empty nonce would be a silent seat's."""
    opened().refused(c.AddNonce(PLAYERS[0], b"x" * size), InvalidNonce)


def test_a_leavers_nonce_is_dropped() -> None:
    """T9: who sits down after a leaver, or is declined, starts without one."""
    table = seated()
    table.do(c.AddNonce(PLAYERS[1], NONCE))
    table.do(c.LeaveSeat(PLAYERS[1]))
    table.do(c.TakeSeat("eda"))
    assert table.seat(1).nonce == b""
    table.do(c.AddNonce("eda", NONCE))
    table.do(c.DeclineHold(table.seat(1).hold_id, "X"))
    assert table.seat(1).nonce == b""


def test_no_nonce_between_deal_and_end_of_the_round() -> None:
    """T9: a nonce is for the coming deal, whose commitment must stand before it."""
    table = dealt(klasik())
    table.refused(c.AddNonce(PLAYERS[0], NONCE), NonceTooLate)
    table.draw_round()
    table.do(c.AddNonce(PLAYERS[0], NONCE))
    table.next_round()
    assert table.round.nonces == (NONCE, b"")


@pytest.mark.parametrize("build", [paid, starting, settling, nachspiel])
def test_a_nonce_is_taken_whenever_a_seed_is_sealed(build: Callable[[], Driver]) -> None:
    """T9: also in count-down and start, and after a match for the next one."""
    table = build()
    table.do(c.AddNonce(PLAYERS[0], NONCE))
    assert table.seat(0).nonce == NONCE


def test_a_nonce_given_in_the_nachspiel_stays_with_who_plays_on() -> None:
    """T9, Ç8: playing on does not drop it."""
    table = nachspiel()
    table.do(c.AddNonce(PLAYERS[0], NONCE))
    table.play_on(0, 1)
    assert the(table.start(), e.RoundDealt).nonces == (NONCE, b"")


def test_a_seat_that_gives_up_loses_its_nonce() -> None:
    """T9, M9: in the pause it had given one; the next round counts it as silent."""
    table = paused(klasik(4))
    table.do(c.AddNonce(PLAYERS[1], NONCE))
    table.do(c.Forfeit(PLAYERS[1]))
    assert the(table.next_round(), e.RoundDealt).nonces == (b"",) * 4


def test_only_contenders_add_nonces_to_a_tie_break() -> None:
    """T9, K6: seats that do not play the round have no say in its deal."""
    table = tie_break(0, 2)
    table.draw_round()
    table.refused(c.AddNonce(PLAYERS[1], NONCE), NonceTooLate)
    table.do(c.AddNonce(PLAYERS[2], NONCE))
