"""A true history, and the means to spoil it."""

from dataclasses import replace

import pytest

from okey.table.events import Event
from services.engine.record import Row
from tests.chaos.tables.checker import check
from tests.chaos.tables.history import (
    ClientHistory,
    History,
    Update,
)
from tests.chaos.tables.recording import (
    client_of,
    true_history,
)
from tests.chaos.tables.replay import Step, replay
from tests.factories import TABLE_ID


@pytest.fixture
def history() -> History:
    return true_history()


def rows_of(history: History) -> list[Row]:
    """The stored rows, to be spoilt in place."""
    rows = history.rows[TABLE_ID]
    assert isinstance(rows, list)
    return rows


def steps_of(history: History) -> list[Step]:
    return replay(rows_of(history))


def first(history: History, kind: type[Event]) -> tuple[int, int]:
    """Where in the rows (from 0), and where in that row, the first such event stands."""
    for index, row in enumerate(history.rows[TABLE_ID]):
        for place, event in enumerate(row.events):
            if isinstance(event, kind):
                return index, place
    raise AssertionError(f"no {kind.__name__}")


def put(history: History, at: tuple[int, int], event: Event) -> None:
    """Replace a stored event, for all clients too."""
    index, place = at
    row = rows_of(history)[index]
    events = (*row.events[:place], event, *row.events[place + 1 :])
    rows_of(history)[index] = replace(row, events=events)
    as_stored(history)


def as_stored(history: History) -> None:
    """Let every client have heard just what is stored, once that was changed."""
    steps = steps_of(history)
    for client in history.clients:
        client.heard[:] = client_of(client.player, steps).heard


def broken(history: History) -> set[str]:
    return {finding.check for finding in check(history)}


def updates(client: ClientHistory) -> list[int]:
    """Where in what the client heard the rows stand."""
    return [index for index, heard in enumerate(client.heard) if isinstance(heard, Update)]
