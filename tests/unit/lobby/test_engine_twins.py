"""What the lobby concludes from a table's view is what the engine decides.

At every moment of tables that live through everything.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from hashlib import sha256

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.errors import OkeyError
from okey.table import commands as c
from okey.table import events as e
from okey.table.decide import step
from okey.table.state import Phase, TableState
from okey.table.view import SPECTATOR
from services.engine.wire import view_message
from services.lobby.engine_seats import seen_from
from services.lobby.listed import is_listed, listed
from services.lobby.whereabouts import is_done
from tests.walk import KINDS, table_named, walk

CONTEXT = c.Context(1_900_000_000_000, lambda: c.seal(sha256(b"fresh").digest()))
SEEDS = range(5)


@cache
def moments(kind: str) -> tuple[TableState, ...]:
    """Tables of that kind after each row of their lives."""
    return tuple(s.after for seed in SEEDS for s in walk(table_named(kind), seed, 200))


def decided(state: TableState, command: c.Command) -> tuple[e.Event, ...]:
    """What the engine makes of the command; nothing where it is refused."""
    try:
        return tuple(step(state, command, CONTEXT)[0])
    except OkeyError:
        return ()


def view_of(state: TableState, viewer: int) -> table_pb2.TableView:
    return view_message(state, viewer, 1, CONTEXT.now_ms, {})


def summary_of(state: TableState) -> engine_pb2.TableSummary:
    return engine_pb2.TableSummary(
        phase=table_pb2.Phase.ValueType(state.phase),
        mode=common_pb2.Mode.ValueType(state.config.mode),
        seat_count=state.config.seat_count,
        seats=view_of(state, SPECTATOR).seats,
    )


def newcomer_gets_a_seat(state: TableState) -> bool:
    return bool(decided(state, c.TakeSeat("newcomer")))


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_listed_as_joinable_where_a_newcomer_gets_a_seat(kind: str) -> None:
    """Ç9, W1: and nowhere else."""
    seen = Counter[bool]()
    for state in moments(kind):
        summary = summary_of(state)
        takes_newcomers = newcomer_gets_a_seat(state)
        assert (is_listed(summary) and listed(summary).is_joinable) == takes_newcomers, state.phase
        seen[takes_newcomers] += 1
    assert seen[False]
    assert seen[True] or kind == "solo"


@pytest.mark.parametrize("kind", KINDS)
def test_quick_match_fills_a_table_where_a_newcomer_gets_a_seat(kind: str) -> None:
    for state in moments(kind):
        look = seen_from(view_of(state, SPECTATOR))
        has_room = look is not None and look.is_open and len(look.chairs) < state.config.seat_count
        assert has_room == newcomer_gets_a_seat(state), state.phase


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_done_leaves_without_a_stake_and_nobody_else(kind: str) -> None:
    """W3, K6, Ç8: asking for another match leaves what is over; a stake that is held binds."""
    seen = Counter[bool]()
    for state, seat, player in sitting(kind):
        vacated = [
            event
            for event in decided(state, c.LeaveSeat(player))
            if isinstance(event, e.SeatVacated)
        ]
        is_free = bool(vacated) and not is_held(state, seat)
        assert is_done(view_of(state, seat)) == is_free, (state.phase, state.seats[seat])
        seen[is_free] += 1
    assert seen[True]
    assert seen[False]


def sitting(kind: str) -> Iterator[tuple[TableState, int, str]]:
    for state in moments(kind):
        for seat, chair in enumerate(state.seats):
            if chair.player:
                yield state, seat, chair.player


def is_held(state: TableState, seat: int) -> bool:
    """Whether the wallet holds, or is asked for, a stake for a match that is to come."""
    is_before_a_match = state.phase not in (Phase.PLAYING, Phase.PAUSE, Phase.SETTLING)
    return is_before_a_match and bool(state.seats[seat].hold_id)
