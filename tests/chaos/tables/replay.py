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


def replay(rows: Sequence[Row]) -> list[Step]:
    """Fold the rows; they are gapless from 1, or ``ValueError`` says where not."""
    steps: list[Step] = []
    state: TableState | None = None
    for number, row in enumerate(rows, start=1):
        if row.seq != number:
            raise ValueError(f"row {number} is missing, row {row.seq} stands in its place")
        before = state
        for event in row.events:
            state = evolve(state, event)
        if state is None:
            raise ValueError(f"row {row.seq} holds no event")
        steps.append(Step(row, before, state))
    return steps
