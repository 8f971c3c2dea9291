"""What the matchmaker tells Prometheus: who waits, for how long, and what became of groups."""

from collections import Counter as Tally
from collections.abc import Sequence

from services.lobby.group import Group
from services.lobby.group_store import Queue
from services.lobby.metrics import (
    DROPPED,
    MATCHES,
    QUEUE_LENGTH,
    SEATED,
    TAKEN_BACK,
    WAIT_SECONDS,
)
from services.lobby.seating import Settled
from services.lobby.terms import Terms
from services.lobby.ticket import TicketState

_shown: set[tuple[str, str, str]] = set()


def show_queues(queues: Sequence[Queue]) -> None:
    """Set the length of every queue; one that is gone is 0."""
    lengths = Tally[tuple[str, str, str]]()
    for queue in queues:
        lengths[_labels(queue.terms)] += queue.length
    _shown.update(lengths)
    for labels in _shown:
        QUEUE_LENGTH.labels(*labels).set(lengths[labels])


def show_settled(group: Group, settled: Settled) -> None:
    """Count what became of a group."""
    labels = _labels(group.terms)
    for wait_ms in settled.waits_ms:
        WAIT_SECONDS.labels(*labels).observe(wait_ms / 1000)
    SEATED.inc(len(settled.waits_ms))
    tables = {outcome.table_id for outcome in settled.verdict if _is_seated(outcome.state)}
    if all(_is_seated(outcome.state) for outcome in settled.verdict) and len(tables) == 1:
        MATCHES.labels(*labels, _kind(group)).inc()
    else:
        TAKEN_BACK.inc()
    for outcome in settled.verdict:
        if outcome.state is TicketState.DROPPED:
            DROPPED.labels(outcome.reason).inc()


def _is_seated(state: TicketState) -> bool:
    return state is TicketState.SEATED


def _kind(group: Group) -> str:
    if group.table_id:
        return "waiting_table"
    return "with_bots" if group.house_fill_after_ms else "new_table"


def _labels(terms: Terms) -> tuple[str, str, str]:
    return terms.variant.name.lower(), terms.mode.name.lower(), str(terms.seat_count)
