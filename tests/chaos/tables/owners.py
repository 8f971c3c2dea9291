"""Which engine had a table when, so that only its own outages count for the table's clocks."""

from collections.abc import Sequence
from dataclasses import replace

from okey.table import events as e
from tests.chaos.tables.history import ENGINE, History, Outage
from tests.chaos.tables.replay import Step


def outages_at(history: History, table_id: str, steps: Sequence[Step]) -> list[Outage]:
    """The outages that the table met: those of the engine that had it then, each until the table
    was taken over, by which its clocks go again.
    """
    owner, since_ms = history.first_owners.get(table_id, ENGINE), 0
    met: list[Outage] = []
    taken_over_ms: list[int] = []
    for step in steps:
        for event in step.row.events:
            if not isinstance(event, e.TableTakenOver):
                continue
            taken_over_ms.append(step.row.at_ms)
            if event.engine != owner:
                met += _within(history.known_outages, owner, since_ms, step.row.at_ms)
                owner, since_ms = event.engine, step.row.at_ms
    end_ms = max((outage.ended_ms for outage in history.known_outages), default=0)
    met += _within(history.known_outages, owner, since_ms, end_ms)
    return [_until_taken_over(outage, taken_over_ms) for outage in met]


def _until_taken_over(outage: Outage, taken_over_ms: Sequence[int]) -> Outage:
    """End the outage at the table's take-over: the run may see an engine alive only later."""
    later = (at_ms for at_ms in taken_over_ms if at_ms > outage.began_ms)
    return replace(outage, ended_ms=min(next(later, outage.ended_ms), outage.ended_ms))


def _within(outages: Sequence[Outage], owner: str, from_ms: int, until_ms: int) -> list[Outage]:
    """The owner's outages, as far as they lie within that time."""
    cut = [
        replace(each, began_ms=max(each.began_ms, from_ms), ended_ms=min(each.ended_ms, until_ms))
        for each in outages
        if each.target == owner
    ]
    return [outage for outage in cut if outage.ended_ms > outage.began_ms]
