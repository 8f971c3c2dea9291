"""The tables of this engine: making, loading, letting go; and what follows each commit."""

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Sequence
from typing import Any, Final

from okey.errors import Exhausted, OkeyError, Unavailable
from okey.table import commands as c
from okey.table.commands import Timer
from okey.table.evolve import evolve
from okey.table.state import TableState, running_timers
from okey_runtime.logging import get_logger
from services.engine.accepted import Accepted
from services.engine.actor import Change, Committer, TableActor
from services.engine.ai import AiSeats
from services.engine.background import say_failure
from services.engine.counting import count_row, count_table, uncount_table
from services.engine.errors import (
    EngineStopping,
    NoSuchTable,
    TableQuarantined,
    TableReloading,
)
from services.engine.journal import Journal
from services.engine.metrics import QUARANTINED
from services.engine.record import Request
from services.engine.relay import Relay, Sink
from services.engine.standstill import Standstill
from services.engine.steady_clock import SteadyClock
from services.engine.timers import Timers
from services.engine.watching import StreamEndReason

_KEPT_CLOSED: Final = 128
_PAGE: Final = 200
_LOADED_AT_ONCE: Final = 16
_FIRST_WAIT_S: Final = 0.05
_LAST_WAIT_S: Final = 2.0

_log = get_logger(__name__)


class Tables:
    """Every table that is not retired has an actor here, unless it is quarantined or reloading."""

    def __init__(
        self,
        journal: Journal,
        commit: Committer,
        clock: SteadyClock,
        sinks: Sequence[Sink],
        ai: AiSeats,
        engine: str,
        standstill: Standstill,
    ) -> None:
        self.timers: Final = Timers(clock, self._ring, standstill.notice)
        self._standstill = standstill
        standstill.on_begin = self.timers.clear
        self.is_maintenance = False
        self._journal = journal
        self._commit = commit
        self._clock = clock
        self._relays = [Relay(sink, journal, clock, self._retire_if_told) for sink in sinks]
        self._ai = ai
        self._engine = engine
        self._actors: dict[str, TableActor] = {}
        self._closed: OrderedDict[str, TableActor] = OrderedDict()
        self._runs: dict[str, asyncio.Task[None]] = {}
        self._loads: dict[str, asyncio.Task[TableActor]] = {}
        self._reloading: dict[str, int] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._quarantined: set[str] = set()
        self._is_stopping = False

    # Using tables ---------------------------------------------------------------------------------

    async def open(
        self, command: c.OpenTable, request: Request, names: tuple[tuple[str, str], ...]
    ) -> tuple[TableActor, Accepted]:
        """Make the table, or answer as before where the same request made it.

        Raises:
            OkeyError: the rules refuse it, or the player sits elsewhere.
        """
        table_id = command.config.table_id
        self._refuse_if_stopping()
        self._refuse_if_reloading(table_id)
        known = self._actors.get(table_id)
        if known is None and await self._journal.registered(table_id) is not None:
            known = await self.get(table_id)
        if known is None:
            known = self._actors.get(table_id)
        if known is not None:
            return known, await known.submit(command, request, names)
        actor = self._new_actor(table_id)
        self._run(actor)
        try:
            accepted = await actor.submit(command, request, names)
        except OkeyError:
            self._stop(actor)
            raise
        return actor, accepted

    async def get(self, table_id: str) -> TableActor:
        """The table, loaded if it has to be.

        Raises:
            NoSuchTable, TableQuarantined, TableReloading, EngineStopping, DatabaseAway.
        """
        self._refuse_if_stopping()
        self._refuse_if_reloading(table_id)
        actor = self._actors.get(table_id)
        if actor is not None:
            if actor.state is None:
                raise TableReloading(f"table {table_id} is being made; send the request again")
            return actor
        if table_id in self._closed:
            self._closed.move_to_end(table_id)
            return self._closed[table_id]
        if await self._journal.registered(table_id) is None:
            raise NoSuchTable(f"there is no table {table_id}")
        return await self._load_once(table_id, self._clock.now_ms())

    def live(self) -> list[TableActor]:
        """The tables that are not closed, by id."""
        return [
            actor
            for _, actor in sorted(self._actors.items())
            if actor.state is not None and not actor.state.is_done
        ]

    def go_on(self) -> list[asyncio.Future[Accepted]]:
        """End a standstill: each table is taken over with what its clocks had left then."""
        since_ms = self._standstill.since_ms
        assert since_ms is not None, "it stands still"
        takeovers = [
            actor.go_on(self._engine, since_ms)
            for actor in self.live()
            if not actor.is_lost and running_timers(actor.table)
        ]
        self._standstill.end()
        return takeovers

    @property
    def is_settled(self) -> bool:
        """Whether every table that was lost is loaded again."""
        return not self._reloading

    @property
    def quarantined(self) -> frozenset[str]:
        """Tables that stand still: their journal cannot be replayed, or somebody stopped them."""
        return frozenset(self._quarantined)

    async def release(self, table_id: str) -> TableActor:
        """Let a table go and load it again from its journal; its streams end, resumably."""
        self._quarantined.discard(table_id)
        QUARANTINED.set(len(self._quarantined))
        actor = self._actors.get(table_id)
        if actor is None:
            return await self.get(table_id)
        self._let_go(actor, StreamEndReason.STREAM_END_REASON_TABLE_RELOADED)
        return await self._load_once(table_id, self._clock.now_ms())

    async def quarantine(self, table_id: str, reason: str) -> bool:
        """Let a table go and keep it still until it is released; whether it was not still before.

        Raises ``NoSuchTable``.
        """
        if table_id in self._quarantined:
            return False
        if await self._journal.registered(table_id) is None:
            raise NoSuchTable(f"there is no table {table_id}")
        self._quarantined.add(table_id)
        QUARANTINED.set(len(self._quarantined))
        _log.error("table_quarantined", table_id=table_id, reason=reason)
        actor = self._actors.get(table_id)
        if actor is not None:
            self._let_go(actor, StreamEndReason.STREAM_END_REASON_TABLE_RELOADED)
        return True

    # Starting and stopping ------------------------------------------------------------------------

    async def recover(self) -> int:
        """Load every table that has something left to do; returns how many."""
        last_renewal_ms = await self._journal.last_renewal_ms()
        after, count = "", 0
        slots = asyncio.Semaphore(_LOADED_AT_ONCE)
        while page := await self._journal.unretired(after, _PAGE):
            await asyncio.gather(
                *(self._load_in(slots, entry.table_id, last_renewal_ms) for entry in page)
            )
            after, count = page[-1].table_id, count + len(page)
        return count

    def stop(self) -> None:
        """Take nothing new and end every stream."""
        self._is_stopping = True
        for actor in [*self._actors.values(), *self._closed.values()]:
            actor.watchers.end_all(StreamEndReason.STREAM_END_REASON_SHUTTING_DOWN)

    async def close(self) -> None:
        """Stop every table; nothing that was acknowledged is lost by it."""
        self._is_stopping = True
        for actor in list(self._actors.values()):
            self._let_go(actor, StreamEndReason.STREAM_END_REASON_SHUTTING_DOWN)
        left = [*self._runs.values(), *self._loads.values(), *self._background]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _refuse_if_stopping(self) -> None:
        if self._is_stopping:
            raise EngineStopping("this engine is stopping; send the request again")

    def _refuse_if_reloading(self, table_id: str) -> None:
        if table_id in self._reloading:
            raise TableReloading(f"table {table_id} is being loaded; send the request again")

    # Loading --------------------------------------------------------------------------------------

    async def _load_in(self, slots: asyncio.Semaphore, table_id: str, last_renewal_ms: int) -> None:
        async with slots:
            try:
                await self._load_once(table_id, last_renewal_ms)
            except TableQuarantined:
                return  # counted and logged where it happened

    async def _load_once(self, table_id: str, last_renewal_ms: int) -> TableActor:
        if table_id in self._quarantined:
            raise TableQuarantined(f"table {table_id} stands still; operators are told")
        loading = self._loads.get(table_id)
        if loading is None:
            loading = asyncio.create_task(self._load(table_id, last_renewal_ms))
            self._loads[table_id] = loading
            loading.add_done_callback(lambda _: self._loads.pop(table_id, None))
        return await asyncio.shield(loading)

    async def _load(self, table_id: str, last_renewal_ms: int) -> TableActor:
        """Replay, take over, go on from the cursors. Raises ``TableQuarantined``."""
        actor = self._new_actor(table_id)
        [changes] = await asyncio.gather(self._replay(actor), return_exceptions=True)
        if isinstance(changes, Unavailable | Exhausted):
            raise changes
        if isinstance(changes, BaseException):
            raise self._quarantine(table_id, changes) from changes
        cursors = await self._journal.cursors(table_id)
        self._run(actor)
        for relay in self._relays:
            for change in changes:
                if change.row.seq > cursors.get(relay.name, 0):
                    relay.push(actor, change.before, change.after, change.row)
        if actor.table.is_done:
            self._retire_if_told(actor)
        else:
            alive_ms = max(last_renewal_ms, changes[-1].row.at_ms)
            await actor.go_on(self._engine, alive_ms)
        return actor

    async def _replay(self, actor: TableActor) -> list[Change]:
        state: TableState | None = None
        changes = []
        for row in await self._journal.rows(actor.table_id):
            before = state
            for event in row.events:
                state = evolve(state, event)
            assert state is not None, "a row has events"
            change = Change(before, state, row)
            actor.restore(change)
            actor.watchers.keep(before, row)
            changes.append(change)
        players = {seat.player for seat in actor.table.seats if seat.is_person}
        actor.names.update(await self._journal.names(players))
        return changes

    def _quarantine(self, table_id: str, error: BaseException) -> TableQuarantined:
        self._quarantined.add(table_id)
        QUARANTINED.set(len(self._quarantined))
        _log.error("table_quarantined", table_id=table_id, exc_info=error)
        return TableQuarantined(f"table {table_id} stands still; operators are told")

    def _new_actor(self, table_id: str) -> TableActor:
        return TableActor(
            table_id, self._clock, self._commit, self._follow, self._lost, self._standstill
        )

    def _run(self, actor: TableActor) -> None:
        self._actors[actor.table_id] = actor
        count_table(actor.state)
        self._runs[actor.table_id] = asyncio.create_task(actor.run(), name=actor.table_id)

    # Letting go -----------------------------------------------------------------------------------

    def _stop(self, actor: TableActor) -> None:
        if self._actors.get(actor.table_id) is not actor:
            return
        del self._actors[actor.table_id]
        uncount_table(actor.state)
        self._runs.pop(actor.table_id).cancel()

    def _let_go(self, actor: TableActor, reason: StreamEndReason.ValueType) -> None:
        self.timers.disarm(actor.table_id)
        self._ai.forget(actor.table_id)
        for relay in self._relays:
            relay.forget(actor.table_id)
        actor.watchers.end_all(reason)
        self._stop(actor)

    def _lost(self, actor: TableActor) -> None:
        """The journal went another way than the actor: forget what it thinks, load anew."""
        table_id = actor.table_id
        if not self._is_stopping and table_id not in self._reloading:
            # From here on the table's clocks stand still, if they have not before.
            known_ms = (actor.stopped_ms, self._standstill.since_ms)
            self._reloading[table_id] = min(
                (ms for ms in known_ms if ms is not None), default=self._clock.now_ms()
            )
            self._spawn(self._reload(table_id))

    async def _reload(self, table_id: str) -> None:
        wait_s = _FIRST_WAIT_S
        try:
            while not self._is_stopping:
                await self._drop_lost(table_id)
                try:
                    is_there = await self._journal.registered(table_id) is not None
                    if is_there and table_id not in self._actors:
                        await self._load_once(table_id, self._reloading[table_id])
                except TableQuarantined:
                    return
                except (Unavailable, Exhausted) as error:
                    _log.warning("reload_failed", table_id=table_id, error=str(error))
                    await asyncio.sleep(wait_s)
                    wait_s = min(2 * wait_s, _LAST_WAIT_S)
                else:
                    return
        finally:
            del self._reloading[table_id]

    async def _drop_lost(self, table_id: str) -> None:
        actor = self._actors.get(table_id)
        if actor is None or not actor.is_lost:
            return
        if (run := self._runs.get(table_id)) is not None:
            # It ends by itself, once it has answered whoever waits.
            await asyncio.wait([run])
        self._let_go(actor, StreamEndReason.STREAM_END_REASON_TABLE_RELOADED)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        task.add_done_callback(say_failure)

    # Following ------------------------------------------------------------------------------------

    def _follow(self, actor: TableActor, change: Change) -> None:
        before, after, row = change.before, change.after, change.row
        count_row(before, after, row)
        self.timers.arm(actor.table_id, running_timers(after))
        for relay in self._relays:
            relay.push(actor, before, after, row)
        actor.watchers.publish(before, after, row, self._clock.now_ms(), actor.names)
        self._ai.consider(actor)

    def _ring(self, table_id: str, timer: Timer) -> None:
        actor = self._actors.get(table_id)
        if actor is not None:
            actor.post(c.Expire(timer))

    def _retire_if_told(self, actor: TableActor) -> None:
        """A closed table whose sinks know everything needs no memory any more."""
        is_told = all(relay.is_idle(actor.table_id) for relay in self._relays)
        if actor.table.is_done and is_told and self._actors.get(actor.table_id) is actor:
            self._spawn(self._retire(actor))

    async def _retire(self, actor: TableActor) -> None:
        try:
            await self._journal.retire(actor.table_id)
        except (Unavailable, Exhausted) as error:
            # The next start finds it again.
            _log.warning("retire_failed", table_id=actor.table_id, error=str(error))
        if self._actors.pop(actor.table_id, None) is None:
            return
        uncount_table(actor.state)
        self._closed[actor.table_id] = actor
        while len(self._closed) > _KEPT_CLOSED:
            table_id, _ = self._closed.popitem(last=False)
            self._runs.pop(table_id).cancel()
