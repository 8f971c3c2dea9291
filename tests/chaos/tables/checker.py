"""The whole of a run against every promise; pure, and apart from the load that made the history."""

from collections.abc import Iterator

from tests.chaos.tables.acknowledged import (
    DURABLE,
    EXPECTED,
    HONEST,
    NOBODY,
    ONCE,
    check_acknowledged,
)
from tests.chaos.tables.clocks import (
    AWAKE,
    FORWARD,
    NOT_EARLY,
    NOT_LESS,
    NOT_MORE,
    STEADY,
    check_awake,
    check_clocks,
    check_seen_clocks,
)
from tests.chaos.tables.hidden import HIDDEN, check_hidden
from tests.chaos.tables.history import Finding, History
from tests.chaos.tables.owners import outages_at
from tests.chaos.tables.replay import Step, Unreplayable, replay
from tests.chaos.tables.results import (
    BOOKED_ONCE,
    ENDS,
    ONE_RESULT,
    TOLD,
    check_ends,
    check_results,
    check_told,
)
from tests.chaos.tables.rings import ONCE_EACH, check_rings
from tests.chaos.tables.shown import SHOWN, check_shown
from tests.chaos.tables.streams import GAPLESS, check_streams

STORED = "rows replay"

CHECKS = (
    *(GAPLESS, SHOWN, HIDDEN),
    *(STORED, DURABLE, ONCE, HONEST, NOBODY, EXPECTED),
    *(NOT_MORE, NOT_LESS, NOT_EARLY, AWAKE, STEADY, FORWARD),
    ONCE_EACH,
    *(ENDS, TOLD, ONE_RESULT, BOOKED_ONCE),
)
"""Every promise by name, in the order of the report."""


def check(history: History) -> list[Finding]:
    """Everything that must never be and was."""
    return list(_findings(history))


def _findings(history: History) -> Iterator[Finding]:
    replays: dict[str, list[Step]] = {}
    for table_id, rows in history.rows.items():
        try:
            replays[table_id] = replay(rows)
        except Unreplayable as error:
            yield Finding(STORED, table_id, "", str(error))
    outages = {each: outages_at(history, each, steps) for each, steps in replays.items()}
    for client in history.clients:
        if client.table_id not in replays:
            continue  # there is nothing right to compare with, and it was found above
        yield from check_streams(client, replays)
        yield from check_shown(client, replays)
        yield from check_hidden(client, replays)
        yield from check_seen_clocks(client)
        yield from check_awake(client, replays, outages[client.table_id], history)
    yield from check_acknowledged(history.clients, history.rows)
    for table_id, steps in replays.items():
        yield from check_clocks(table_id, steps, outages[table_id])
        yield from check_rings(table_id, steps)
    yield from check_ends(replays)
    yield from check_told(replays, history.still_open)
    yield from check_results(replays, history.booked, history.still_open)
