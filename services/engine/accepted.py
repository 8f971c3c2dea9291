"""What a table has accepted lately: requests by id, and what became of stakes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from okey.table import events as e
from services.engine.errors import RequestIdReused
from services.engine.record import Request, Row

HELD = "HELD"
"""The verdict on a hold that stands; a declined one has the wallet's reason instead."""


MOST_KEPT = 20_000
"""Far more than a long Klasik match has; who joins and leaves for ever fills no memory."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The row that a command became; no events where there was nothing to do."""

    seq: int
    events: tuple[e.Event, ...]


class AcceptedRequests:
    """Requests of the running match and of the wait before it, by player and id (M5's kin)."""

    def __init__(self) -> None:
        self._by_id: dict[tuple[str, str], tuple[bytes, Accepted]] = {}
        self._last_end = 0

    def find(self, request: Request) -> Accepted | None:
        """What the same request became before; None for a new one.

        Raises:
            RequestIdReused: the id was used for other content.
        """
        known = self._by_id.get((request.player, request.request_id))
        if known is None:
            return None
        if known[0] != request.digest:
            raise RequestIdReused(
                f"request_id {request.request_id} was used for another request; "
                "choose a new one for each new request"
            )
        return known[1]

    def fold(self, row: Row) -> None:
        """Remember a row's request, and forget those of the match before the one that starts."""
        if row.request is not None:
            key = (row.request.player, row.request.request_id)
            self._by_id[key] = (row.request.digest, Accepted(row.seq, row.events))
            _drop_oldest(self._by_id)
        for event in row.events:
            if isinstance(event, e.MatchStarted):
                self._by_id = {
                    key: known
                    for key, known in self._by_id.items()
                    if known[1].seq > self._last_end
                }
            elif isinstance(event, e.MatchEnded | e.MatchVoided):
                self._last_end = row.seq


class Holds:
    """What became of each stake that the running or coming match asked for."""

    def __init__(self) -> None:
        self._verdicts: dict[str, str] = {}
        self._waiting: dict[str, asyncio.Event] = {}

    def fold(self, events: Sequence[e.Event]) -> None:
        """Note verdicts, and wake who waits for one."""
        for event in events:
            match event:
                case e.SeatPaid(hold_id=hold_id):
                    self._decide(hold_id, HELD)
                case e.SeatDeclined(hold_id=hold_id, reason=reason):
                    self._decide(hold_id, reason)
                case e.SeatVacated(hold_id=hold_id) if hold_id:
                    self._decide(hold_id, self._verdicts.get(hold_id, "SEAT_LEFT"))
                case e.MatchEnded() | e.MatchVoided():
                    self._verdicts.clear()

    def _decide(self, hold_id: str, verdict: str) -> None:
        self._verdicts[hold_id] = verdict
        _drop_oldest(self._verdicts)
        woken = self._waiting.pop(hold_id, None)
        if woken is not None:
            woken.set()

    async def verdict(self, hold_id: str, timeout_s: float) -> str:
        """HELD, or why the stake is not held; empty where nobody knows within the time."""
        if hold_id not in self._verdicts:
            woken = self._waiting.setdefault(hold_id, asyncio.Event())
            try:
                async with asyncio.timeout(timeout_s):
                    await woken.wait()
            except TimeoutError:
                return ""
        return self._verdicts.get(hold_id, "")


def _drop_oldest(kept: dict[Any, Any]) -> None:
    while len(kept) > MOST_KEPT:
        del kept[next(iter(kept))]
