"""Commands for tables that are not there, or closed; whatever is refused changes nothing."""

from collections.abc import Callable
from typing import get_args

import pytest

from okey.errors import OkeyError
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table.decide import decide, step
from okey.table.errors import TableExists, TableIsClosed, TableNotFound
from tests.factories import (
    PLAYERS,
    STOCK,
    Driver,
    canak,
    dealt,
    klasik,
    nachspiel,
    opened,
    paid,
    paused,
    settling,
    starting,
)

SAMPLES: tuple[c.Command, ...] = (
    c.OpenTable(canak(), PLAYERS[0]),
    c.PlayerMove(PLAYERS[0], 1, c.Draw(STOCK)),
    c.BotMove(0, 1, c.Discard(Tile.K2)),
    c.NeutralMove(0, 1),
    c.TakeSeat("x"),
    c.LeaveSeat("x"),
    c.PlayOn(PLAYERS[0]),
    c.AddNonce(PLAYERS[0], bytes(31)),
    c.Forfeit("x"),
    c.ClaimMatch(PLAYERS[0]),
    c.ReturnToSeat(PLAYERS[0]),
    c.ConfirmHold("unknown"),
    c.DeclineHold("unknown", "X"),
    c.ConfirmStart("unknown"),
    c.DeclineStart("unknown", ()),
    c.ConfirmSettlement("unknown"),
    c.Expire(c.Timer(c.TimerKind.IDLE, 1)),
    c.VoidMatch("operator", "note"),
    c.VoidTable("operator", "note"),
    c.TakeOver("engine", 0),
)
WALLET = (c.ConfirmHold, c.DeclineHold, c.ConfirmStart, c.DeclineStart, c.ConfirmSettlement)


def closed() -> Driver:
    table = settling(klasik())
    table.settle()
    return table


def test_the_samples_name_every_command() -> None:
    assert {type(command) for command in SAMPLES} == set(get_args(c.Command))


def test_deciding_gives_the_events_alone() -> None:
    """W1: without the state that they lead to."""
    command = c.OpenTable(canak(), PLAYERS[0])
    context = Driver(canak()).context()
    assert decide(None, command, context) == step(None, command, context)[0]


def test_a_table_is_opened_once() -> None:
    """W1: and never again, closed or not."""
    for build in (opened, dealt, closed):
        build().refused(c.OpenTable(canak(), "x"), TableExists)


@pytest.mark.parametrize("command", SAMPLES[1:])
def test_nothing_is_done_at_a_table_that_was_never_opened(command: c.Command) -> None:
    """W1: wallet answers included: they name a table that must be there."""
    with pytest.raises(TableNotFound):
        step(None, command, Driver(canak()).context())


@pytest.mark.parametrize("command", SAMPLES[1:])
def test_nothing_is_done_at_a_closed_table(command: c.Command) -> None:
    """K11, Ç10: late answers of the wallet are taken and cause nothing; all else is refused."""
    table = closed()
    if isinstance(command, WALLET):
        table.ignored(command)
    else:
        table.refused(command, TableIsClosed)


BUILDS = [opened, paid, starting, dealt, paused, settling, nachspiel, closed]


def answer(table: Driver, command: c.Command) -> OkeyError | None:
    """The refusal, or None for a command that is taken."""
    try:
        step(table.state, command, table.context())
    except OkeyError as refusal:
        return refusal
    return None


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("command", SAMPLES)
def test_a_command_at_the_wrong_time_is_refused_by_name_or_causes_nothing(
    build: Callable[[], Driver], command: c.Command
) -> None:
    """U12, M5: in every phase; refusals say why, foreign answers of the wallet cause nothing."""
    table = build()
    before = table.state
    refusal = answer(table, command)
    assert table.state is before
    if isinstance(command, WALLET):
        table.ignored(command)
    elif refusal is not None:
        assert refusal.reason.isupper()
        assert str(refusal)


def test_a_seed_is_drawn_only_where_one_is_sealed() -> None:
    """T9: the end of a round seals the next one's; a move needs none."""
    drawn: list[c.SealedSeed] = []

    def draw() -> c.SealedSeed:
        drawn.append(c.seal(bytes([len(drawn)] * 32)))
        return drawn[-1]

    table = dealt(canak(2))
    context = c.Context(table.now_ms, draw)
    _, state = step(table.state, table.move(c.Discard(table.hand(table.mover).rack[-1])), context)
    assert drawn == []
    _, state = step(state, c.VoidMatch("operator", "note"), context)
    assert [state.sealed] == drawn
