"""One live table: its commands run one after another, and count once they are committed."""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from okey.errors import OkeyError
from okey.rules.deal import SEED_BYTES
from okey.table import commands as c
from okey.table.decide import step
from okey.table.events import Event
from okey.table.state import TableState, running_timers, seated_players
from okey_runtime.logging import get_logger
from services.engine.accepted import Accepted, AcceptedRequests, AcceptedRow, Holds
from services.engine.appending import Append, SitsElsewhere, Taken, Verdict
from services.engine.caught import Caught
from services.engine.counting import count_command
from services.engine.errors import StandsStill, TableBusy, TableReloading
from services.engine.finished_round import marks_of
from services.engine.group_commit import TooManyWaiting
from services.engine.metrics import COMMAND_SECONDS, ERROR, OK
from services.engine.players import no_seat_for
from services.engine.record import Request, Row, encode_events
from services.engine.seals import Seals, TableSeal
from services.engine.snapshots import Snapshot
from services.engine.standstill import Standstill
from services.engine.steady_clock import SteadyClock
from services.engine.watching import Watchers

_MOST_WAITING: Final = 256

_log = get_logger(__name__)


class Committer(Protocol):
    """Makes rows durable; ``GroupCommit`` is the one for production."""

    async def append(self, row: Append) -> Verdict:
        """Commit one row."""
        ...


class Change(NamedTuple):
    """What one committed row did to the table."""

    before: TableState | None
    after: TableState
    row: Row


@dataclass(slots=True)
class _Envelope:
    command: c.Command
    arrived_ms: int
    request: Request | None
    names: tuple[tuple[str, str], ...]
    answer: asyncio.Future[Accepted]


class TableActor:
    """Holds a table's state; ``run`` must be running for commands to be decided.

    ``follow`` is called after each commit, ``lose`` once when the table must be loaded anew: the
    journal went another way, or nobody knows which way it went. ``may_write`` raises where some
    engine could not read the events.
    """

    def __init__(
        self,
        table_id: str,
        clock: SteadyClock,
        commit: Committer,
        follow: "Callable[[TableActor, Change], None]",
        lose: "Callable[[TableActor], None]",
        standstill: Standstill,
        may_write: "Callable[[Sequence[Event]], None]" = lambda events: None,
        seals: Seals | None = None,
    ) -> None:
        self.table_id: Final = table_id
        self.state: TableState | None = None
        self.seq = 0
        self.created_ms = 0
        self.names: dict[str, str] = {}
        self.watchers: Final = Watchers()
        self.holds: Final = Holds()
        self._requests = AcceptedRequests()
        self._clock = clock
        self._commit = commit
        self._follow = follow
        self._lose = lose
        self._standstill = standstill
        self._may_write = may_write
        self.seal: Final = TableSeal(seals or Seals(), table_id)
        # Kept, because to ask for it costs a system call.
        self._loop = asyncio.get_running_loop()
        self._queue: deque[_Envelope] = deque()
        self._idle: asyncio.Future[None] | None = None
        self._takeover: _Envelope | None = None
        self._last_ms = 0
        self._is_lost = False

    @property
    def table(self) -> TableState:
        """The state of a table that was opened."""
        assert self.state is not None, f"table {self.table_id} was never opened"
        return self.state

    @property
    def is_lost(self) -> bool:
        """Whether it decides nothing any more, so that the table must be loaded anew."""
        return self._is_lost

    def resume(self, snapshot: Snapshot, requests: Sequence[AcceptedRow]) -> None:
        """Go on after a snapshot's row; ``requests`` are those that it remembers."""
        self.state, self.seq = snapshot.state, snapshot.seq
        self.created_ms = snapshot.created_ms
        self._requests.resume(requests, snapshot.requests_after, snapshot.last_end)
        self.holds.resume(snapshot.verdicts)

    def snapshot(self, at_ms: int) -> Snapshot:
        """The table after its newest row, which was written at that moment."""
        return Snapshot(
            seq=self.seq,
            at_ms=at_ms,
            created_ms=self.created_ms,
            state=self.table,
            requests_after=self._requests.after,
            last_end=self._requests.last_end,
            verdicts=dict(self.holds.verdicts),
            seal_key=self.seal.key_id,
        )

    def restore(self, change: Change) -> None:
        """Take a row that was committed before; for recovery, before ``run``."""
        self._take(change)

    async def submit(
        self,
        command: c.Command,
        request: Request | None = None,
        names: tuple[tuple[str, str], ...] = (),
    ) -> Accepted:
        """Queue a command and wait until it is committed; its time is now.

        A caller that goes away stops waiting; a command that was begun still counts.

        Raises:
            OkeyError: the rules refuse it, or the journal cannot take it.
        """
        if request is None:
            return await self.post(command)
        return await self.ask(command, request, names)

    def ask(
        self, command: c.Command, request: Request, names: tuple[tuple[str, str], ...] = ()
    ) -> asyncio.Future[Accepted]:
        """Queue somebody's command; its time is now.

        Raises:
            OkeyError: too much waits already, or nothing can be committed now.
        """
        self._standstill.refuse()
        if len(self._queue) >= _MOST_WAITING:
            raise TableBusy(f"{_MOST_WAITING} commands wait at table {self.table_id}; slow down")
        return self.post(command, request, names)

    def post(
        self,
        command: c.Command,
        request: Request | None = None,
        names: tuple[tuple[str, str], ...] = (),
    ) -> asyncio.Future[Accepted]:
        """Queue a command of the engine's own, whatever waits already; its time is now, or the end
        of a standstill.
        """
        self._standstill.notice()  # this may be the first thing that runs after a pause
        envelope = self._envelope(command, request, names)
        self._queue.append(envelope)
        self._wake_up()
        return envelope.answer

    def go_on(self, engine: str, since_ms: int) -> asyncio.Future[Accepted]:
        """Take the table over before anything that waits is decided: no clock ran since then."""
        if self._takeover is None:
            self._takeover = self._envelope(c.TakeOver(engine, since_ms), None, ())
            self._put_back(self._takeover)
        self._takeover.arrived_ms = self._clock.now_ms()
        return self._takeover.answer

    def finish(self) -> None:
        """Decide nothing more; ``run`` ends once the command under way is answered."""
        self._is_lost = True
        self._wake_up()

    @property
    def stopped_ms(self) -> int | None:
        """Since when no clock has run, where that is still to be made good."""
        command = self._takeover.command if self._takeover is not None else None
        return command.last_renewal_ms if isinstance(command, c.TakeOver) else None

    def _envelope(
        self, command: c.Command, request: Request | None, names: tuple[tuple[str, str], ...]
    ) -> _Envelope:
        answer: asyncio.Future[Accepted] = self._loop.create_future()
        envelope = _Envelope(command, self._clock.now_ms(), request, names, answer)
        if self._is_lost:
            self._refuse(envelope, self._reloading())
        return envelope

    async def run(self) -> None:
        """Decide commands until the table is lost or the task is cancelled."""
        envelope: _Envelope | None = None
        try:
            while (envelope := await self._next()) is not None:
                if envelope.answer.done():
                    continue  # the caller has gone and nothing was begun
                with Caught() as caught:
                    self._answer(envelope, await self._handle(envelope))
                if isinstance(caught.error, StandsStill):
                    self._put_back(envelope)
                elif caught.error is not None:
                    self._refuse(envelope, caught.error)
                    if envelope is self._takeover:
                        self._give_up()  # no clock goes here: it must be tried again
                envelope = None
        finally:
            self._is_lost = True
            if envelope is not None:
                self._refuse(envelope, self._reloading())
            while self._queue:
                self._refuse(self._queue.popleft(), self._reloading())

    def _put_back(self, envelope: _Envelope) -> None:
        """Decide what was not tried again: after the take-over that ends a standstill, but before
        what came later.
        """
        is_taken_over_first = bool(self._queue) and self._queue[0] is self._takeover
        self._queue.insert(int(is_taken_over_first), envelope)
        self._wake_up()

    async def _next(self) -> _Envelope | None:
        """The next command, once something can be decided; None where nothing will be here."""
        while not self._is_lost and (not self._queue or self._standstill.is_on):
            if self._standstill.is_on:
                await self._standstill.over()
            else:
                self._idle = self._loop.create_future()
                await self._idle
        return None if self._is_lost else self._queue.popleft()

    def _wake_up(self) -> None:
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    def _answer(self, envelope: _Envelope, accepted: Accepted) -> None:
        if envelope is self._takeover:
            self._takeover = None
        count_command(type(envelope.command).__name__, OK)
        COMMAND_SECONDS.observe((self._clock.now_ms() - envelope.arrived_ms) / 1000)
        if not envelope.answer.done():
            envelope.answer.set_result(accepted)

    def _refuse(self, envelope: _Envelope, error: Exception) -> None:
        kind = type(envelope.command).__name__
        count_command(kind, error.reason if isinstance(error, OkeyError) else ERROR)
        if not isinstance(error, OkeyError):
            _log.error("command_failed", table_id=self.table_id, kind=kind, exc_info=error)
        if not envelope.answer.done():
            envelope.answer.set_exception(error)
            # The engine's own commands may be refused with nobody waiting for the answer.
            envelope.answer.exception()

    async def _handle(self, envelope: _Envelope) -> Accepted:
        if envelope.request is not None:
            known = self._requests.find(envelope.request)
            if known is not None:
                return known
        # What waited out a standstill counts from its end: a table's time never goes back.
        now_ms = max(envelope.arrived_ms, self._last_ms)
        context = c.Context(now_ms, _fresh_seed)
        before = self.state
        events, after = step(before, envelope.command, context)
        if not events:
            return Accepted(self.seq, ())
        self._may_write(events)
        payload = encode_events(events)
        row = Row(self.seq + 1, now_ms, events, envelope.request, payload)
        await self._append(before, after, row, envelope.names)
        self.names.update(envelope.names)
        change = Change(before, after, row)
        self._take(change)
        self._follow(self, change)
        return Accepted(row.seq, events)

    async def _append(
        self,
        before: TableState | None,
        after: TableState,
        row: Row,
        names: tuple[tuple[str, str], ...],
    ) -> None:
        """Commit the row, or give the table up where it is not certain that it is ours."""
        joined, left = _joined_and_left(before, after)
        append = Append(
            table_id=self.table_id,
            seq=row.seq,
            at_ms=row.at_ms,
            payload=self.seal.sealed(before, row),
            request=row.request,
            joined=joined,
            left=left,
            names=names,
            is_last=after.is_done,
            deadline_ms=min((timer.deadline_ms for timer in running_timers(after)), default=0),
            rounds=() if row.is_plain else marks_of(before, after, row.events),
        )
        verdict: Verdict = Taken.SEQ
        with Caught() as caught:
            verdict = await self._commit.append(append)
        if verdict is None:
            return
        if isinstance(verdict, SitsElsewhere):
            raise no_seat_for(verdict)
        if isinstance(caught.error, TooManyWaiting | StandsStill):
            raise caught.error  # it was not tried
        self._give_up()
        raise caught.error or self._reloading()

    def _give_up(self) -> None:
        """Decide nothing more; the table is reloaded."""
        if not self._is_lost:
            self._is_lost = True
            self._lose(self)

    def _take(self, change: Change) -> None:
        self.state = change.after
        self.seq = change.row.seq
        self.created_ms = self.created_ms or change.row.at_ms
        self._last_ms = change.row.at_ms
        self._requests.fold(change.row)
        if not change.row.is_plain:
            self.holds.fold(change.row.events)

    def _reloading(self) -> TableReloading:
        return TableReloading(f"table {self.table_id} is being loaded; send the request again")


def _fresh_seed() -> c.SealedSeed:
    return c.seal(os.urandom(SEED_BYTES))


def _joined_and_left(
    before: TableState | None, after: TableState
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Who is bound to the table now and was not, and who was and is not any more (W3)."""
    is_same = before is not None and before.seats is after.seats and before.phase is after.phase
    if is_same or not after.config.rules.one_table_per_player:
        return (), ()
    was = seated_players(before) if before is not None else frozenset()
    now = seated_players(after)
    return tuple(sorted(now - was)), tuple(sorted(was - now))
