"""What a table has accepted lately: requests by id, and what became of stakes."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from okey.table import events as e
from okey_runtime.codec import case_name
from services.engine.errors import RequestIdReused
from services.engine.record import Request, Row, decode_events, encode_events

HELD = "HELD"
"""The verdict on a hold that stands; a declined one has the wallet's reason instead."""


MOST_KEPT = 20_000
"""Far more than a long Klasik match has; who joins and leaves for ever fills no memory."""


class Accepted(NamedTuple):
    """The row that a command became; no events where there was nothing to do."""

    seq: int
    events: tuple[e.Event, ...]


@dataclass(slots=True)
class AcceptedRow:
    """A request, and the row that it became."""

    request: Request
    seq: int
    payload: bytes


class AcceptedRequests:
    """Requests of the running match and of the wait before it, by player and id (M5's kin).

    They are remembered as they are stored, since hardly any is ever asked for again. Of which rows
    is said by ``after``: none up to it; ``last_end`` is the row of the last match's end.
    """

    def __init__(self) -> None:
        self._by_id: dict[tuple[str, str], AcceptedRow] = {}
        self.after = 0
        self.last_end = 0

    def resume(self, rows: Sequence[AcceptedRow], after: int, last_end: int) -> None:
        """Go on where another one was."""
        self._by_id = {(row.request.player, row.request.request_id): row for row in rows}
        self.after, self.last_end = after, last_end

    def find(self, request: Request) -> Accepted | None:
        """What the same request became before; None for a new one.

        Raises:
            RequestIdReused: the id was used for other content.
        """
        known = self._by_id.get((request.player, request.request_id))
        if known is None:
            return None
        if known.request.digest != request.digest:
            raise RequestIdReused(request.request_id, _described(known))
        return Accepted(known.seq, decode_events(known.payload))

    def fold(self, row: Row) -> None:
        """Remember a row's request, and forget those of the match before the one that starts."""
        if row.request is not None:
            key = (row.request.player, row.request.request_id)
            payload = row.payload or encode_events(row.events)
            self._by_id[key] = AcceptedRow(row.request, row.seq, payload)
            _drop_oldest(self._by_id)
        if row.is_plain:
            return
        for event in row.events:
            if isinstance(event, e.MatchStarted):
                self.after = self.last_end
                self._by_id = {k: row for k, row in self._by_id.items() if row.seq > self.after}
            elif isinstance(event, e.MatchEnded | e.MatchVoided):
                self.last_end = row.seq


class Holds:
    """What became of each stake that the running or coming match asked for."""

    def __init__(self) -> None:
        self._verdicts: dict[str, str] = {}
        self._waiting: dict[str, asyncio.Event] = {}

    @property
    def verdicts(self) -> Mapping[str, str]:
        """By hold id, HELD or the reason of the decline."""
        return self._verdicts

    def resume(self, verdicts: Mapping[str, str]) -> None:
        """Go on where another one was."""
        self._verdicts = dict(verdicts)

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


def _described(known: AcceptedRow) -> str:
    """What became of a request, by the events of its row."""
    kinds = ", ".join(case_name(type(event)) for event in decode_events(known.payload))
    return f"the request of row {known.seq} at this table ({kinds or 'nothing to do'})"


def _drop_oldest(kept: dict[Any, Any]) -> None:
    while len(kept) > MOST_KEPT:
        del kept[next(iter(kept))]
