"""Who follows a table: a bounded queue each, the slow are cut and come back with their cursor."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.table.state import Seat, TableState
from okey.table.view import SPECTATOR
from services.engine.metrics import WATCHERS, WATCHERS_CUT
from services.engine.record import Row, decode_events, encode_events
from services.engine.updates import Allowed, RowUpdates
from services.engine.wire import update_message, viewers_along

StreamEndReason = engine_pb2.StreamEndReason

MOST_UNREAD: Final = 256
KEPT_ROWS: Final = 256
CUT_AFTER_S: Final = 5.0


class Shown(NamedTuple):
    """A row, or the whole table, as all who see the same see it.

    ``wire`` is the message that carries it, made once for all of them; row and table have the same
    numbers in both kinds of stream.
    """

    seq: int
    wire: bytes

    @classmethod
    def of(cls, update: engine_pb2.TableUpdate) -> "Shown":
        """The row of an update."""
        return cls(update.seq, engine_pb2.PlayResponse(update=update).SerializeToString())

    @classmethod
    def whole(cls, view: table_pb2.TableView) -> "Shown":
        """The table as it is."""
        return cls(view.seq, engine_pb2.PlayResponse(snapshot=view).SerializeToString())


class Answered(NamedTuple):
    """The answer to a command; ``written`` is called once it was sent."""

    wire: bytes
    written: Callable[[], None]


Sent = Shown | Answered
"""What waits for a stream to be written."""


class Watcher:
    """One stream's place at a table; ``player`` is empty where the caller can own no seat.

    ``cut`` is called if the stream is still not read a while after it was to end.
    """

    def __init__(
        self, player: str, with_view: bool, cut: Callable[[], object] = lambda: None
    ) -> None:
        self.player: Final = player
        self.with_view: Final = with_view
        self._cut = cut
        self._cutting: asyncio.TimerHandle | None = None
        self._unread: deque[Sent] = deque()
        self._end: StreamEndReason.ValueType | None = None
        self.moved_to = ""
        """Where the table is now, for a stream that ends because it is elsewhere."""
        self._reader: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def has_ended(self) -> bool:
        """Whether nothing is added any more."""
        return self._end is not None

    def give(self, shown: Shown) -> None:
        """Add a row; one too many ends the stream."""
        if self._end is not None:
            return
        if len(self._unread) >= MOST_UNREAD:
            self._unread.clear()
            self.end(StreamEndReason.STREAM_END_REASON_SLOW_READER)
            return
        self._unread.append(shown)
        self._wake_up()

    def answer(self, answered: Answered) -> None:
        """Add an answer; whoever asks has a bounded number under way."""
        if self._end is None:
            self._unread.append(answered)
            self._wake_up()

    def end(self, reason: StreamEndReason.ValueType) -> None:
        """Let the stream end after what it has not read yet; its caller needs no reason."""
        if self._end is None:
            self._end = reason
            if reason:
                WATCHERS_CUT.labels(StreamEndReason.Name(reason)).inc()
            self._wake_up()
            self._cutting = self._loop.call_later(CUT_AFTER_S, self._cut)

    @contextmanager
    def waited_for(self) -> Iterator[None]:
        """While the stream that was to end waits for others than its reader, which has as long as
        ever afterwards.
        """
        self.close()
        yield
        self._cutting = self._loop.call_later(CUT_AFTER_S, self._cut)

    def close(self) -> None:
        """The stream is over."""
        if self._cutting is not None:
            self._cutting.cancel()

    def take(self) -> Sent | StreamEndReason.ValueType | None:
        """What comes next, or why nothing does any more; None where that is to be waited for."""
        return self._unread.popleft() if self._unread else self._end

    def news(self) -> asyncio.Future[None]:
        """Done once ``take`` gives something. No coroutine, since it is awaited for each row."""
        self._reader = self._loop.create_future()
        return self._reader

    def _wake_up(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


@dataclass(slots=True)
class _Kept:
    """A row of the recent past as it is stored, with each player's seat before it."""

    seq: int
    payload: bytes
    seated: dict[str, int]


class Watchers:
    """Everybody who follows one table, and the rows that a returning one may have missed."""

    def __init__(self) -> None:
        # In the order in which they came, so that all who see the same are told in one order.
        self._watchers: dict[Watcher, None] = {}
        self._kept: deque[_Kept] = deque(maxlen=KEPT_ROWS)
        self._seats: tuple[Seat, ...] = ()
        self._seated: dict[str, int] = {}
        self._allowed = Allowed()

    def __len__(self) -> int:
        return len(self._watchers)

    def add(
        self, player: str, *, with_view: bool, cut: Callable[[], object] = lambda: None
    ) -> Watcher:
        """A new watcher, who gets every row from now on; ``remove`` it at the end."""
        watcher = Watcher(player, with_view, cut)
        self._watchers[watcher] = None
        WATCHERS.inc()
        return watcher

    def remove(self, watcher: Watcher) -> None:
        """The stream is over."""
        watcher.close()
        if watcher in self._watchers:
            del self._watchers[watcher]
            WATCHERS.dec()

    def end_all(self, reason: StreamEndReason.ValueType, moved_to: str = "") -> None:
        """End every stream; ``moved_to`` is where the table is now, if that is elsewhere."""
        for watcher in self._watchers:
            watcher.moved_to = watcher.moved_to or moved_to
            watcher.end(reason)

    def keep(self, before: TableState | None, row: Row) -> None:
        """Remember a row for those who come back."""
        payload = row.payload or encode_events(row.events)
        self._kept.append(_Kept(row.seq, payload, self._seated_in(before)))

    def missed(
        self, player: str, after_seq: int, seq: int, now_ms: int, names: dict[str, str]
    ) -> list[engine_pb2.TableUpdate] | None:
        """The rows after the cursor as the player saw them; None where they are not kept."""
        first = self._kept[0].seq if self._kept else seq + 1
        if not first - 1 <= after_seq <= seq:
            return None
        updates = []
        for kept in self._kept:
            if kept.seq > after_seq:
                events = decode_events(kept.payload)
                viewers = viewers_along(events, player, kept.seated.get(player, SPECTATOR))
                row = Row(kept.seq, 0, events)
                updates.append(update_message(row, list(viewers), now_ms, names))
        return updates

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
        if self._watchers:
            self._allowed.follow(before, after)
            self._give(before, after, row, RowUpdates(after, row, now_ms, names, self._allowed))
        if after.is_done:
            self.end_all(StreamEndReason.STREAM_END_REASON_TABLE_CLOSED)

    def _give(
        self, before: TableState | None, after: TableState, row: Row, updates: RowUpdates
    ) -> None:
        made: dict[tuple[int, int, bool], Shown] = {}
        # Looked up, because a crowd may watch.
        seats_before, seats_after = self._seated_in(before), self._seated_in(after)
        for watcher in list(self._watchers):
            was = seats_before.get(watcher.player, SPECTATOR)
            now = seats_after.get(watcher.player, SPECTATOR)
            key = (was, now, watcher.with_view)
            shown = made.get(key)
            if shown is None:
                wire = updates.wire(watcher.player, was, now, with_view=watcher.with_view)
                shown = made[key] = Shown(row.seq, wire)
            watcher.give(shown)

    def _seated_in(self, state: TableState | None) -> dict[str, int]:
        """Each player's seat: one and the same for all rows between which nobody comes or goes."""
        seats = state.seats if state is not None else ()
        if seats is not self._seats:
            self._seats = seats
            seated = {seat.player: index for index, seat in enumerate(seats) if seat.is_person}
            if seated != self._seated:
                self._seated = seated
        return self._seated
