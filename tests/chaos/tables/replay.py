"""The stored rows of a table, each with the state before and after it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from okey.table.evolve import evolve
from okey.table.state import TableState
from services.engine.record import Row


@dataclass(frozen=True, slots=True)
class Step:
    """A row and what it did; ``before`` is None for the row that made the table."""

    row: Row
    before: TableState | None
    after: TableState


Replays = Mapping[str, Sequence[Step]]
"""By table, every step from the first row on."""


class Unreplayable(Exception):
    """Rows that cannot follow each other; the message says which one."""


_FOLDING_FAILS = (ValueError, LookupError, AssertionError, AttributeError, TypeError)
"""What folding an event raises that cannot happen in the state before it."""


def replay(rows: Sequence[Row]) -> list[Step]:
    """Fold the rows. Raises ``Unreplayable``."""
    steps: list[Step] = []
    state: TableState | None = None
    for number, row in enumerate(rows, start=1):
        if row.seq != number:
            raise Unreplayable(f"row {number} is missing, row {row.seq} stands in its place")
        before = state
        try:
            for event in row.events:
                state = evolve(state, event)
        except _FOLDING_FAILS as error:
            why = f"{type(error).__name__}: {error}"
            raise Unreplayable(f"row {row.seq} cannot follow the one before it ({why})") from error
        if state is None:
            raise Unreplayable(f"row {row.seq} holds no event")
        steps.append(Step(row, before, state))
    return steps
