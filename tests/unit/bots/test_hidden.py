"""A bot cannot see what its seat may not see: it is given the seat's view and nothing else."""

from dataclasses import replace
from hashlib import sha256
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okey.bots.choose import choose
from okey.rules.tile import without
from okey.rules.variant import BotLevel
from okey.table import commands as c
from okey.table.config import TableConfig
from okey.table.decide import step
from okey.table.state import Phase, TableState, running_timers
from okey.table.view import view

pytestmark = pytest.mark.deep


def played(seed: int, moves: int) -> TableState:
    """A table of two after so many moves of normal bots, or at the end of its round."""
    state: TableState | None = None
    now_ms, number = 0, 0

    def do(command: c.Command) -> TableState:
        nonlocal state, number
        number += 1
        fresh = c.seal(sha256(f"{seed}:{number}".encode()).digest())
        _, state = step(state, command, c.Context(now_ms, lambda: fresh))
        return state

    table = do(c.OpenTable(TableConfig("t" * 26, seat_count=2), "ada"))
    table = do(c.TakeSeat("bo"))
    for seat in table.seats:
        table = do(c.ConfirmHold(seat.hold_id))
    countdown = running_timers(table)[0]
    now_ms = countdown.deadline_ms
    table = do(c.Expire(countdown))
    table = do(c.ConfirmStart(table.match_id))
    for _ in range(moves):
        if table.phase is not Phase.PLAYING:
            break
        assert table.round is not None
        assert table.round.turn is not None
        turn = table.round.turn
        action = choose(view(table, turn.seat), BotLevel.NORMAL, False, seed)
        table = do(c.PlayerMove(table.seats[turn.seat].player, turn.number, action))
    return table


@given(st.integers(0, 50), st.integers(0, 24), st.randoms(use_true_random=False))
def test_hidden_tiles_never_change_a_choice(seed: int, moves: int, shuffler: Random) -> None:
    """W4: a bot plays by its own seat's view, as a person does."""
    table = played(seed, moves)
    if table.round is None or table.round.turn is None:
        return
    mover = table.round.turn.seat
    other = 1 - mover
    hands = list(table.round.hands)
    taken = hands[other].taken
    unknown = [*table.round.stock, *without(hands[other].rack, taken)]
    shuffler.shuffle(unknown)
    held = len(hands[other].rack) - len(taken)
    hands[other] = replace(hands[other], rack=(*taken, *unknown[:held]))
    twin_round = replace(table.round, hands=tuple(hands), stock=tuple(unknown[held:]), seed=b"")
    twin = replace(table, round=twin_round)
    for level in BotLevel:
        assert choose(view(twin, mover), level, False, seed) == choose(
            view(table, mover), level, False, seed
        )
