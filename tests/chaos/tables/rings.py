"""Each timer fires once: nothing that a clock decides is decided twice (U4, U5, U8, U9)."""

from collections import Counter
from collections.abc import Iterator, Sequence

from okey.table import events as e
from okey.table.reasons import ForfeitReason
from okey.table.state import TableState
from tests.chaos.tables.history import Finding
from tests.chaos.tables.replay import Step

ONCE_EACH = "each timer fires once"


def check_rings(table_id: str, steps: Sequence[Step]) -> Iterator[Finding]:
    """Every clock of one table, by what it decided."""
    rung: Counter[str] = Counter()
    for step in steps:
        for event in step.row.events:
            what = _rang(event, step.before)
            if what is not None:
                rung[what] += 1
                if rung[what] == 2:
                    text = f"row {step.row.seq}: {what} a second time"
                    yield Finding(ONCE_EACH, table_id, "", text)


def _rang(event: e.Event, before: TableState | None) -> str | None:
    """What a clock has decided by this event; None where none has."""
    match event:
        case e.TurnTimedOut():
            assert before is not None
            assert before.round is not None
            assert before.round.turn is not None
            turn = before.round.turn
            place = f"{before.match_no}.{before.round.round_no}.{turn.number}"
            # Who comes back in mid-turn may oversleep it once more, by another clock.
            return f"turn {place} of seat {event.seat} timed out at {turn.deadline_ms}"
        case e.SeatForfeited(reason=ForfeitReason.ABANDONED):
            return f"seat {event.seat} of match {event.match_id} was given up by its clock"
        case e.RoundDealt():
            match_no = before.match_no if before is not None else 0
            return f"round {match_no}.{event.round_no} was dealt"
        case _:
            return None
