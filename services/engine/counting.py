"""What tables, decided commands and committed rows add to the metrics, labels looked up once."""

from functools import cache
from typing import assert_never

from prometheus_client import Counter, Gauge

from okey.rules.variant import Mode, Variant
from okey.table import events as e
from okey.table.state import Phase, TableState
from services.engine.metrics import (
    COMMANDS,
    EVENTS,
    FORFEITS,
    MATCHES,
    RETURNS,
    ROUNDS,
    STAND_INS,
    TABLE_TAKEOVERS,
    TABLES,
    TIMEOUTS,
)
from services.engine.record import Row

_Counted = (
    e.TurnTimedOut
    | e.StandInSeated
    | e.PlayerReturned
    | e.SeatForfeited
    | e.RoundEnded
    | e.MatchEnded
    | e.MatchVoided
    | e.TableTakenOver
)


def count_table(state: TableState | None) -> None:
    """A table is in memory from now on; one that was never opened does not count yet."""
    if state is not None:
        _tables(state.config.variant, state.config.mode, state.phase).inc()


def uncount_table(state: TableState | None) -> None:
    """A table is not in memory any more."""
    if state is not None:
        _tables(state.config.variant, state.config.mode, state.phase).dec()


def count_command(kind: str, code: str) -> None:
    """A command was decided."""
    _commands(kind, code).inc()


def count_row(before: TableState | None, after: TableState, row: Row) -> None:
    """A row was committed."""
    if before is None or before.phase is not after.phase:
        uncount_table(before)
        count_table(after)
    for event in row.events:
        _events(type(event).__name__).inc()
        if not row.is_plain and isinstance(event, _Counted):
            _count(after, event)


def _count(after: TableState, event: _Counted) -> None:
    variant, mode = after.config.variant.name, after.config.mode.name
    match event:
        case e.TurnTimedOut():
            TIMEOUTS.inc()
        case e.StandInSeated():
            STAND_INS.inc()
        case e.PlayerReturned():
            RETURNS.inc()
        case e.SeatForfeited(reason=reason):
            FORFEITS.labels(reason.name).inc()
        case e.RoundEnded(result=result):
            ROUNDS.labels(variant, mode, result.name).inc()
        case e.MatchEnded(kind=kind):
            MATCHES.labels(variant, mode, kind.name).inc()
        case e.MatchVoided():
            MATCHES.labels(variant, mode, "VOIDED").inc()
        case e.TableTakenOver():
            TABLE_TAKEOVERS.inc()
        case _:
            assert_never(event)


@cache
def _tables(variant: Variant, mode: Mode, phase: Phase) -> Gauge:
    return TABLES.labels(variant.name, mode.name, phase.name)


@cache
def _commands(kind: str, code: str) -> Counter:
    return COMMANDS.labels(kind, code)


@cache
def _events(kind: str) -> Counter:
    return EVENTS.labels(kind)
