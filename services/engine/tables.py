"""The tables of this engine: making, loading, letting go; and what follows each commit."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, Final

from okey.errors import Exhausted, OkeyError, Unavailable
from okey.table import commands as c
from okey.table.commands import Timer
from okey.table.state import running_timers
from okey_runtime.logging import get_logger
from services.engine.accepted import Accepted
from services.engine.actor import Change, Committer, TableActor
from services.engine.actors import Actors
from services.engine.ai import AiSeats
from services.engine.background import leave_failure, say_failure
from services.engine.counting import count_row
from services.engine.errors import EngineStopping, NoSuchTable, TableReloading
from services.engine.loading import Loader
from services.engine.maintenance import Maintenance
from services.engine.ownership import Ownership
from services.engine.quarantine import Quarantine
from services.engine.record import Request
from services.engine.recovery import Recovery
from services.engine.relay import Relays, Sink
from services.engine.reloads import Reloads
from services.engine.shards import shard_of
from services.engine.snapshots import Snapshotter
from services.engine.standstill import Standstill
from services.engine.steady_clock import SteadyClock
from services.engine.stores import Stores
from services.engine.timers import Timers
from services.engine.watching import StreamEndReason

_log = get_logger(__name__)


class Tables:
    """Every table of our shards that is not retired has an actor here, unless it stands still or is
    loading. ``check_owner`` is called where a table was lost: somebody else may have it.
    """

    def __init__(
        self,
        stores: Stores,
        commit: Committer,
        clock: SteadyClock,
        sinks: Sequence[Sink],
        ai: AiSeats,
        ownership: Ownership,
        standstill: Standstill,
    ) -> None:
        self.check_owner: Callable[[], Coroutine[Any, Any, None]] = _nobody_asks
        self.timers: Final = Timers(clock, self._ring, standstill.notice)
        self._standstill = standstill
        standstill.on_begin = self.timers.clear
        self.maintenance: Final = Maintenance(self._ring)
        self._journal = stores.journal
        self._operators = stores.operators
        self._loader = Loader(stores.journal, stores.read_at_once)
        self._commit = commit
        self._clock = clock
        self.relays: Final = Relays(
            sinks, stores.journal, clock, self._retire_if_told, standstill.goes
        )
        self.snapshotter: Final = Snapshotter(
            stores.snapshots, stores.snapshot_every_rows, self.relays.are_idle
        )
        self.quarantine: Final = Quarantine(stores.operators, clock)
        self.recovery: Final = Recovery(clock, self.load)
        self._ai = ai
        self._ownership = ownership
        self.is_readable: Final = ownership.is_readable
        self._actors = Actors()
        self._loads: dict[str, asyncio.Task[TableActor]] = {}
        self._reloads = Reloads(self._load_lost)
        self._background: set[asyncio.Task[None]] = set()
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
        await self.settled(table_id)
        self._reloads.refuse(table_id)
        known = self._actors.live(table_id)
        if known is None and await self._journal.registered(table_id) is not None:
            known = await self.get(table_id)
        if (known := known or self._actors.live(table_id)) is not None:
            return known, await known.submit(command, request, names)
        actor = self._new_actor(table_id)
        self._actors.run(actor)
        try:
            accepted = await actor.submit(command, request, names)
        except OkeyError:
            self._actors.stop(actor)
            raise
        return actor, accepted

    async def get(self, table_id: str) -> TableActor:
        """The table, loaded if it has to be; where it is loaded anew that is waited for a moment.

        Raises:
            NoSuchTable, TableQuarantined, TableReloading, EngineStopping, DatabaseAway, NotOwner.
        """
        await self._until_ready(table_id)
        known = self._known(table_id)
        if known is None and not self.recovery.has(table_id):
            await self._refuse_if_unknown(table_id)
        # Somebody else may have loaded it meanwhile, and a table has one actor.
        alive_ms = self.recovery.last_alive_ms(table_id)
        return known or self._known(table_id) or await self.load(table_id, alive_ms)

    async def _refuse_if_unknown(self, table_id: str) -> None:
        if await self._journal.registered(table_id) is None:
            raise NoSuchTable(f"there is no table {table_id}")
        await self.quarantine.refuse_if_voided(table_id)

    def forget(self, player: str) -> None:
        """Show the player's name at no table any more."""
        for actor in self._actors:
            actor.names.pop(player, None)

    async def settled(self, table_id: str) -> None:
        """Return once the table is not on its way, or after a moment, if it is ours.

        Raises ``NotOwner``, ``EngineStopping``, ``StandsStill``.
        """
        await self._until_ready(table_id)
        self._refuse_if_not_ours(table_id)

    async def _until_ready(self, table_id: str) -> None:
        await self._ownership.settled(table_id)
        if not self._standstill.is_on:  # or it will not be soon
            await self._reloads.wait(table_id)

    def _known(self, table_id: str) -> TableActor | None:
        """The table if it is in memory; raises what says that nobody can have it now.

        Not one that is being taken over: until then the engine before may still write to it.
        """
        self._refuse_if_not_ours(table_id)
        self._reloads.refuse(table_id)
        self.quarantine.refuse(table_id)
        if table_id in self._loads:
            return None
        actor = self._actors.get(table_id)
        if actor is not None and actor.state is None:
            raise TableReloading(f"table {table_id} is being made; send the request again")
        return actor

    def live(self) -> list[TableActor]:
        """The tables that are not closed, by id."""
        actors = self._actors.all_live()
        return [actor for actor in actors if actor.state and not actor.state.is_done]

    def go_on(self) -> list[asyncio.Future[Accepted]]:
        """End a standstill; each table is taken over with what its clocks had left then, also one
        without a clock, since what waits there may start one.
        """
        since_ms = self._standstill.since_ms
        assert since_ms is not None, "it stands still"
        takeovers = [
            actor.go_on(self._ownership.engine, since_ms)
            for actor in self.live()
            if not actor.is_lost
        ]
        self._standstill.end()
        return takeovers

    @property
    def is_settled(self) -> bool:
        """Whether every table that was lost is back."""
        return not self._reloads

    def is_in_memory(self, table_id: str) -> bool:
        """Whether the table is loaded, or closed and remembered."""
        return table_id in self._actors

    def put_off(self, table_id: str) -> None:
        """Do not load a table of its own accord that came with its shard."""
        self.recovery.drop(table_id)

    async def look(self, shards: Collection[int]) -> None:
        """Follow what operators and audits have decided, also at other engines; these shards are
        ours.
        """
        self.maintenance.follow(await self._operators.is_maintenance())
        for table_id in await self.quarantine.look(lambda t: shard_of(t) in shards):
            self.drop(table_id)

    # Starting and stopping ------------------------------------------------------------------------

    async def adopt(self, since: Mapping[int, int]) -> int:
        """Begin to load every table of these shards that has something left to do; how many there
        are. ``since`` is the moment since which the clocks of each shard stand still.
        """
        found = await self._journal.unretired_in(since)
        left = [table for table in found if table.table_id not in self.quarantine.tables]
        self._ownership.held |= since.keys()
        return self.recovery.add(left, lambda table_id: since[shard_of(table_id)])

    def give_up(self, shards: Collection[int], address_of: Callable[[int], str]) -> None:
        """Let every table of these shards go at once: another engine has them, or will."""
        self._ownership.held.difference_update(shards)
        self.recovery.drop_shards(shards)
        self.quarantine.forget_shards(shards)
        self._actors.forget_closed(shards)
        for actor in self._actors.of_shards(shards):
            address = address_of(shard_of(actor.table_id))
            self._let_go(actor, StreamEndReason.STREAM_END_REASON_MOVED, address)

    async def finish(self, shards: Collection[int]) -> None:
        """Decide no more at tables of these shards; returns once what is under way is answered."""
        actors = self._actors.of_shards(shards)
        for actor in actors:
            actor.finish()
        await self._actors.finished(actors)

    def end_streams(self) -> None:
        """Others may have our tables by now, and nobody knows who."""
        for actor in self._actors:
            actor.watchers.end_all(StreamEndReason.STREAM_END_REASON_NOT_OWNER)

    def count_by_shard(self) -> Counter[int]:
        """How many tables with something left to do are in memory."""
        return Counter(shard_of(actor.table_id) for actor in self._actors.all_live())

    def unloaded_shards(self) -> frozenset[int]:
        """The shards of which a table is still to be loaded and taken over, or is lost."""
        under_way = {shard_of(t) for t in (*self._loads, *self._reloads)}
        return self.recovery.unloaded_shards() | under_way

    def _refuse_if_not_ours(self, table_id: str) -> None:
        if self._is_stopping:
            raise EngineStopping("this engine is stopping; send the request again")
        self._ownership.refuse(table_id)

    def stop(self) -> None:
        """Take nothing new and end every stream."""
        self._is_stopping = True
        for actor in self._actors:
            actor.watchers.end_all(StreamEndReason.STREAM_END_REASON_SHUTTING_DOWN)

    async def close(self) -> None:
        """Stop every table; nothing that was acknowledged is lost by it."""
        self._is_stopping = True
        for actor in self._actors.all_live():
            self._let_go(actor, StreamEndReason.STREAM_END_REASON_SHUTTING_DOWN)
        left = [*self._loads.values(), *self._background]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._loader.close()
        await self._actors.close()

    # Loading --------------------------------------------------------------------------------------

    async def load(self, table_id: str, last_alive_ms: int) -> TableActor:
        """Load a table that is not in memory, once however many ask; its clocks have stood still
        since that moment. Raises as ``get``.
        """
        loading = self._loads.get(table_id)
        if loading is None:
            loading = asyncio.create_task(self._load(table_id, last_alive_ms))
            self._loads[table_id] = loading
            loading.add_done_callback(lambda _: self._loads.pop(table_id, None))
            loading.add_done_callback(leave_failure)
        return await asyncio.shield(loading)

    async def _load(self, table_id: str, last_alive_ms: int) -> TableActor:
        """Replay, take over, go on from the cursors. Raises ``TableQuarantined``, ``NotOwner``."""
        actor = self._new_actor(table_id)
        [loaded] = await asyncio.gather(self._loader.load(actor), return_exceptions=True)
        if isinstance(loaded, Unavailable | Exhausted):
            raise loaded
        if isinstance(loaded, BaseException):
            raise self.quarantine.stop_unreadable(table_id, loaded) from loaded
        # Meanwhile it may have been stopped, or handed over.
        self.quarantine.refuse_load(table_id)
        self._refuse_if_not_ours(table_id)
        self.recovery.drop(table_id)
        self.snapshotter.begin(table_id, loaded.snapshot_seq)
        self._actors.run(actor)
        self.relays.go_on(actor, loaded.changes, loaded.cursors)
        if actor.table.is_done:
            self._retire_if_told(actor)
        else:
            since_ms = max(last_alive_ms, loaded.last_ms)
            await actor.go_on(self._ownership.engine, since_ms)
        return actor

    def _new_actor(self, table_id: str) -> TableActor:
        return TableActor(
            table_id,
            self._clock,
            self._commit,
            self._follow,
            self._lost,
            self._standstill,
            self._ownership.refuse_unreadable,
            self._journal.seals,
        )

    # Letting go -----------------------------------------------------------------------------------

    def drop(self, table_id: str) -> None:
        """Let the table go, if it is in memory; its streams end, resumably."""
        actor = self._actors.live(table_id)
        if actor is not None:
            self._let_go(actor, StreamEndReason.STREAM_END_REASON_TABLE_RELOADED)

    def _let_go(
        self, actor: TableActor, reason: StreamEndReason.ValueType, address: str = ""
    ) -> None:
        self.timers.disarm(actor.table_id)
        self.maintenance.forget(actor.table_id)
        self.snapshotter.forget(actor.table_id)
        self._ai.forget(actor.table_id)
        self.relays.forget(actor.table_id)
        actor.watchers.end_all(reason, address)
        self._actors.stop(actor)

    def _lost(self, actor: TableActor) -> None:
        """The journal went another way than the actor: forget what it thinks, load anew, unless
        another engine has it.
        """
        if not self._is_stopping and not self._reloads.is_loading(actor.table_id):
            # From here on the table's clocks stand still, if they have not before.
            known_ms = (actor.stopped_ms, self._standstill.since_ms)
            since_ms = min((ms for ms in known_ms if ms is not None), default=self._clock.now_ms())
            self._spawn(self._reloads.load(actor.table_id, since_ms))

    async def _load_lost(self, table_id: str, since_ms: int) -> None:
        await self.check_owner()
        await self._drop_lost(table_id)
        if not self._ownership.has(table_id):
            return
        if table_id not in self._actors and await self._journal.registered(table_id) is not None:
            await self.load(table_id, since_ms)

    async def _drop_lost(self, table_id: str) -> None:
        actor = self._actors.live(table_id)
        if actor is None or not actor.is_lost:
            return
        await self._actors.finished([actor])
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
        self.relays.push(actor, change)
        actor.watchers.publish(before, after, row, self._clock.now_ms(), actor.names)
        self._ai.consider(actor)
        if self.snapshotter.is_due(actor.table_id, row.seq) and not after.is_done:
            self.snapshotter.take(actor.snapshot(row.at_ms))
            self._spawn(self.snapshotter.write())

    def _ring(self, table_id: str, timer: Timer) -> None:
        actor = self._actors.live(table_id)
        if actor is not None and not self.maintenance.holds(table_id, timer):
            actor.post(c.Expire(timer))

    def _retire_if_told(self, actor: TableActor) -> None:
        """A closed table whose sinks know everything needs no memory any more."""
        is_told = actor.table.is_done and self.relays.are_idle(actor.table_id)
        if is_told and self._actors.is_live(actor):
            self._spawn(self._retire(actor))

    async def _retire(self, actor: TableActor) -> None:
        try:
            await self._journal.retire(actor.table_id)
        except (Unavailable, Exhausted) as error:
            # The next start finds it again.
            _log.debug("retire_failed", table_id=actor.table_id, error=str(error))
        if self._actors.is_live(actor):  # it was not let go meanwhile, or loaded anew
            self.snapshotter.forget(actor.table_id)
            self._actors.retire(actor)


async def _nobody_asks() -> None:
    """There is no other engine."""
