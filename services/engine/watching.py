"""Who follows a table: a bounded queue each, the slow are cut and come back with their cursor."""

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Final

from okey.api.engine.v1 import engine_pb2
from okey.table.state import TableState
from okey.table.view import SPECTATOR, view
from okey_runtime.clock import Clock
from services.engine.metrics import WATCHERS, WATCHERS_CUT
from services.engine.record import Row
from services.engine.wire import (
    named_view,
    prompt_message,
    update_message,
    viewers_along,
)

StreamEndReason = engine_pb2.StreamEndReason

MOST_UNREAD: Final = 256
KEPT_ROWS: Final = 256


class Watcher:
    """One stream's place at a table; ``player`` is empty where the caller can own no seat."""

    def __init__(self, player: str, with_view: bool) -> None:
        self.player: Final = player
        self.with_view: Final = with_view
        self._unread: deque[engine_pb2.TableUpdate] = deque()
        self._end: StreamEndReason.ValueType | None = None
        self._wake = asyncio.Event()

    def give(self, update: engine_pb2.TableUpdate) -> None:
        """Add an update; one too many ends the stream."""
        if self._end is not None:
            return
        if len(self._unread) >= MOST_UNREAD:
            self._unread.clear()
            self.end(StreamEndReason.STREAM_END_REASON_SLOW_READER)
            return
        self._unread.append(update)
        self._wake.set()

    def end(self, reason: StreamEndReason.ValueType) -> None:
        """Let the stream end after what it has not read yet."""
        if self._end is None:
            self._end = reason
            WATCHERS_CUT.labels(StreamEndReason.Name(reason)).inc()
            self._wake.set()

    async def next(
        self, until_ms: int, clock: Clock
    ) -> engine_pb2.TableUpdate | StreamEndReason.ValueType:
        """The next update, or why there is none; ``until_ms`` is the end of the caller's token."""
        while not self._unread:
            if self._end is not None:
                return self._end
            self._wake.clear()
            left_s = max(0.0, (until_ms - clock.now_ms()) / 1000)
            try:
                async with asyncio.timeout(left_s):
                    await self._wake.wait()
            except TimeoutError:
                self.end(StreamEndReason.STREAM_END_REASON_TOKEN_EXPIRED)
        return self._unread.popleft()


@dataclass(frozen=True, slots=True)
class _Kept:
    """A row of the recent past, with who owned which seat before it."""

    row: Row
    owners: tuple[str, ...]


class Watchers:
    """Everybody who follows one table, and the rows that a returning one may have missed."""

    def __init__(self) -> None:
        self._watchers: set[Watcher] = set()
        self._kept: deque[_Kept] = deque(maxlen=KEPT_ROWS)

    def __len__(self) -> int:
        return len(self._watchers)

    def add(self, player: str, *, with_view: bool) -> Watcher:
        """A new watcher, who gets every row from now on; ``remove`` it at the end."""
        watcher = Watcher(player, with_view)
        self._watchers.add(watcher)
        WATCHERS.inc()
        return watcher

    def remove(self, watcher: Watcher) -> None:
        """The stream is over."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)
            WATCHERS.dec()

    def end_all(self, reason: StreamEndReason.ValueType) -> None:
        """End every stream."""
        for watcher in self._watchers:
            watcher.end(reason)

    def keep(self, before: TableState | None, row: Row) -> None:
        """Remember a row for those who come back."""
        owners = tuple(seat.player for seat in before.seats) if before is not None else ()
        self._kept.append(_Kept(row, owners))

    def missed(
        self, player: str, after_seq: int, seq: int, now_ms: int, names: dict[str, str]
    ) -> list[engine_pb2.TableUpdate] | None:
        """The rows after the cursor as the player saw them; None where they are not kept."""
        first = self._kept[0].row.seq if self._kept else seq + 1
        if not first - 1 <= after_seq <= seq:
            return None
        return [
            update_message(
                kept.row,
                list(viewers_along(kept.row.events, player, _seat_in(kept.owners, player))),
                now_ms,
                names,
            )
            for kept in self._kept
            if kept.row.seq > after_seq
        ]

    def publish(
        self,
        before: TableState | None,
        after: TableState,
        row: Row,
        now_ms: int,
        names: dict[str, str],
    ) -> None:
        """Give a committed row to everybody, made once for all who see the same."""
        self.keep(before, row)
        made: dict[tuple[int, int, bool], engine_pb2.TableUpdate] = {}
        for watcher in list(self._watchers):
            was = before.seat_of(watcher.player) if before is not None else SPECTATOR
            now = after.seat_of(watcher.player)
            key = (was, now, watcher.with_view)
            update = made.get(key)
            if update is None:
                viewers = list(viewers_along(row.events, watcher.player, was))
                update = update_message(row, viewers, now_ms, names)
                seen = view(after, now)
                update.prompt.CopyFrom(prompt_message(seen))
                if watcher.with_view:
                    update.view.CopyFrom(named_view(seen, row.seq, now_ms, names))
                made[key] = update
            watcher.give(update)
        if after.is_done:
            self.end_all(StreamEndReason.STREAM_END_REASON_TABLE_CLOSED)


def _seat_in(owners: tuple[str, ...], player: str) -> int:
    return owners.index(player) if player and player in owners else SPECTATOR
