"""Every table ends; one result a match, booked exactly once (M5, M10)."""

from collections import Counter
from collections.abc import Iterator
from typing import TypeGuard

from okey.table import events as e
from okey.table.reasons import VoidReason
from tests.chaos.tables.history import Finding
from tests.chaos.tables.replay import Replays

ENDS = "every table ends"
ONE_RESULT = "one result a match"
TOLD = "wallet and ratings know it all"
BOOKED_ONCE = "settled exactly once"

_START = "start"
"""Booked before the row that says so; every other journal is asked for by a row."""
_BOOKED = frozenset({_START, "settle", "void_match", "forfeit"})


def check_ends(replays: Replays) -> Iterator[Finding]:
    """Everybody has left, so every table is closed."""
    for table_id, steps in replays.items():
        if not steps[-1].after.is_done:
            row, phase = steps[-1].row, steps[-1].after.phase.name
            yield Finding(ENDS, table_id, "", f"it stands in {phase} at row {row.seq}")


def check_told(replays: Replays, still_open: frozenset[str]) -> Iterator[Finding]:
    """A table that is closed has nothing left to tell."""
    for table_id, steps in replays.items():
        if table_id in still_open and steps[-1].after.is_done:
            yield Finding(TOLD, table_id, "", "it is closed, and not all of it was told")


def check_results(
    replays: Replays, booked: Counter[tuple[str, str]], still_open: frozenset[str] = frozenset()
) -> Iterator[Finding]:
    """Every match that was dealt has one end, and the wallet's journals are those of the rows; of
    a table that is still open, which is a finding of its own, at most those.
    """
    events = [event for steps in replays.values() for step in steps for event in step.row.events]
    decided = Counter(pair for event in events for pair in _decided(event))
    dealt = Counter(event.match_id for event in events if isinstance(event, e.MatchStarted))
    ended = Counter(event.match_id for event in events if _is_end(event))
    for match_id in sorted(dealt.keys() | ended.keys()):
        if (dealt[match_id], ended[match_id]) != (1, 1):
            text = f"{match_id} was dealt {dealt[match_id]} times and ended {ended[match_id]} times"
            yield Finding(ONE_RESULT, _table_of(match_id), "", text)
    told = Counter({pair: count for pair, count in booked.items() if pair[0] in _BOOKED})
    for pair in sorted(decided.keys() | told.keys()):
        kind, match_id = pair
        table_id = _table_of(match_id)
        may_follow = table_id in still_open and (told[pair] < decided[pair] or kind == _START)
        if decided[pair] != told[pair] and not may_follow:
            text = f"{match_id}: {kind} decided {decided[pair]} times, booked {told[pair]} times"
            yield Finding(BOOKED_ONCE, table_id, "", text)


def _decided(event: e.Event) -> Iterator[tuple[str, str]]:
    """The journals that the event asks of the wallet, by kind and match."""
    match event:
        case e.MatchStarted():
            yield _START, event.match_id
        case e.MatchEnded():
            yield "settle", event.match_id
        case e.SeatForfeited():
            yield "forfeit", event.match_id
        case e.MatchVoided():
            yield "void_match", event.match_id
            if event.reason is VoidReason.LEFT_BEFORE_DEAL:
                # Started in the books, and voided before the deal (W2).
                yield _START, event.match_id
        case _:
            return


def _is_end(event: e.Event) -> TypeGuard[e.MatchEnded | e.MatchVoided]:
    """Whether a match that was dealt ends by it."""
    if isinstance(event, e.MatchVoided):
        return event.reason is not VoidReason.LEFT_BEFORE_DEAL
    return isinstance(event, e.MatchEnded)


def _table_of(match_id: str) -> str:
    return match_id.rpartition("-")[0]
