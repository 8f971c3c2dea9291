"""An engine without its gRPC door: tables on a real journal, a virtual clock, scripted services."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.table import commands as c
from okey.table.config import TableConfig
from okey.table.state import Phase, TableState, Turn, running_timers
from okey_runtime.clock import VirtualClock
from okey_runtime.database import Database, DatabaseAway
from okey_runtime.migrations import migrate
from okey_runtime.seal_keys import SealKeysFile, rotate_seal_keys
from services.engine.actor import TableActor
from services.engine.ai import AiSeats
from services.engine.app import MIGRATIONS
from services.engine.appending import Append, Verdict
from services.engine.errors import TableReloading
from services.engine.gathering import MOST_KEYS
from services.engine.group_commit import GroupCommit
from services.engine.interventions import Interventions
from services.engine.journal import Journal, Registered
from services.engine.members import Members, Myself
from services.engine.operators import Operators
from services.engine.ownership import Ownership
from services.engine.rating_sink import RatingSink
from services.engine.record import EVERY_KIND, Request
from services.engine.seals import Seals
from services.engine.shards import Board
from services.engine.sharing import Sharing
from services.engine.snapshots import Snapshots
from services.engine.standstill import BEAT_MS, Standstill, WatchedStore
from services.engine.steady_clock import SteadyClock
from services.engine.stored_tables import StoredTable
from services.engine.stores import Stores
from services.engine.tables import Tables
from services.engine.wallet_sink import WalletSink
from services.engine.watching import Sent, StreamEndReason, Watcher
from tests.members import MemoryMembers
from tests.unit.engine.doubles import BotDouble, rating_double, served, wallet_double

FOR_EVER_MS = 1 << 60
TABLE_ID = "t" * 26
RENEW_EVERY_MS = 2_000


class LosableJournal(Journal):
    """The journal; ``losses`` says of the next commits whether they are lost before or after."""

    def __init__(self, database: Database, engine: str, seals: Seals) -> None:
        super().__init__(database, engine, seals=seals)
        self.losses: list[str] = []
        self.is_away = False
        self.stuck: set[str] = set()
        """Tables whose rows do not come from the disk until ``unstuck``."""
        self.unstuck = asyncio.Event()
        self.is_stuck = asyncio.Event()
        self.appends = 0
        self.looks = asyncio.Event()
        """Cleared, it keeps the registry's answers from arriving."""
        self.looks.set()
        self._free = asyncio.Event()
        self._free.set()
        self._answered = asyncio.Event()
        self._answered.set()

    def hold(self) -> None:
        """Answer no commit until ``let_go``."""
        self._free.clear()

    def let_go(self) -> None:
        """Answer commits again."""
        self._free.set()

    async def registered(self, table_id: str) -> Registered | None:
        found = await super().registered(table_id)
        await self.looks.wait()
        return found

    async def stored_tables(self, table_ids: Collection[str]) -> Mapping[str, StoredTable]:
        if self.stuck.intersection(table_ids):
            self.is_stuck.set()
            await self.unstuck.wait()
        self.refuse_if_away()
        return await super().stored_tables(table_ids)

    def refuse_if_away(self) -> None:
        if self.is_away:
            raise DatabaseAway("away, as the test says")

    async def append(self, batch: Sequence[Append]) -> list[Verdict]:
        self.appends += 1
        self._answered.clear()
        try:
            return await self._append(batch)
        finally:
            self._answered.set()

    async def answered(self) -> None:
        """Return once no commit is under way, those apart that are held."""
        if self._free.is_set():
            await self._answered.wait()

    async def _append(self, batch: Sequence[Append]) -> list[Verdict]:
        await self._free.wait()
        self.refuse_if_away()
        loss = self.losses.pop(0) if self.losses else ""
        verdicts = [] if loss == "before" else await super().append(batch)
        if loss:
            raise DatabaseAway("lost, as the test says")
        return verdicts


class LosableMembers:
    """One engine's way to the board, which is kept in memory: virtual time passes faster than a
    disk writes. It is away whenever the journal is.
    """

    def __init__(self, members: MemoryMembers, journal: LosableJournal) -> None:
        self._members = members
        self._journal = journal

    async def now_ms(self) -> int:
        return await self._members.now_ms()

    async def board(self) -> Board:
        self._journal.refuse_if_away()
        return await self._members.board()

    async def join(self, me: Myself) -> Board:
        self._journal.refuse_if_away()
        return await self._members.join(me)

    async def renew(
        self,
        me: Myself,
        right_ms: int,
        settled: Collection[int] = (),
        *,
        is_taking: bool = True,
        is_claiming: bool = True,
    ) -> Board:
        self._journal.refuse_if_away()
        return await self._members.renew(
            me, right_ms, settled, is_taking=is_taking, is_claiming=is_claiming
        )

    async def hand_over(
        self, me: Myself, given: Collection[int], to: str, now_ms: int, *, is_pinned: bool = False
    ) -> bool:
        self._journal.refuse_if_away()
        return await self._members.hand_over(me, given, to, now_ms, is_pinned=is_pinned)

    async def pin(self, me: Myself, shards: Collection[int]) -> bool:
        self._journal.refuse_if_away()
        return await self._members.pin(me, shards)

    async def leave(self, me: Myself, now_ms: int) -> None:
        self._journal.refuse_if_away()
        await self._members.leave(me, now_ms)


class Bells:
    """How engines of one test ring one another."""

    def __init__(self) -> None:
        self.worlds: dict[str, World] = {}

    async def look(self, address: str) -> int:
        await self.worlds[address].sharing.look()
        return 0

    def keep(self, addresses: Collection[str]) -> None:
        """They have no connections."""


class World:
    """One engine; ``restart`` is a crash and a new start on the same journal."""

    def __init__(
        self,
        folder: Path,
        engine: str = "engine",
        beside: "World | None" = None,
        lease_ms: int = FOR_EVER_MS,
    ) -> None:
        """``beside`` is another engine on the same database and the same time. Leases last for ever
        where a test lets hours pass at once.
        """
        self.engine = engine
        self.lease_ms = lease_ms
        self.clock: VirtualClock = beside.clock if beside else VirtualClock()
        self.members: MemoryMembers = (
            beside.members if beside else MemoryMembers(self.clock.now_ms, lease_ms)
        )
        self.bells: Bells = beside.bells if beside else Bells()
        self.bells.worlds[engine] = self
        self.stall_ms = 2_000
        self.wallet = wallet_double()
        self.rating = rating_double()
        self.bots = BotDouble()
        self.snapshot_every_rows = 500
        self.url = f"sqlite:///{folder / 'engine.db'}"
        self.on_database: Callable[[Database], None] = lambda _: None
        """Called with each database that an engine opens."""
        self.has_real_members = False
        """Whether the board is in the database too; its time stays virtual."""
        self.seal_keys: Path | None = folder / "seal-keys"
        """None: an engine that encrypts nothing, like those of the releases before."""
        self._numbers = count(1)
        self._doubles = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        await migrate(self.url, MIGRATIONS)
        if self.seal_keys is not None and not self.seal_keys.exists():
            rotate_seal_keys(self.seal_keys)
        self._wallet_channel = await self._doubles.enter_async_context(served(self.wallet))
        self._rating_channel = await self._doubles.enter_async_context(served(self.rating))
        await self.boot()

    async def boot(self, stuck: str = "") -> None:
        """Start the engine; the rows of the table ``stuck`` never come from the disk."""
        self.database = Database(self.url)
        self.on_database(self.database)
        seals = Seals(SealKeysFile(self.seal_keys) if self.seal_keys is not None else None)
        self.journal = LosableJournal(self.database, self.engine, seals)
        self.journal.stuck = {stuck}
        self.steady = SteadyClock(self.clock)
        self.standstill = Standstill(self.steady, self.stall_ms)
        self.ownership = Ownership(self.engine, self.steady, self.lease_ms, seals=seals)
        commit = GroupCommit(WatchedStore(self.journal, self.standstill), self.steady)
        operators = Operators(self.database)
        self.tables = Tables(
            Stores(
                self.journal,
                Snapshots(self.database, seals),
                operators,
                self.snapshot_every_rows,
                # What keeps one table from being read shall keep no other.
                read_at_once=1 if stuck else MOST_KEYS,
            ),
            commit,
            self.steady,
            [WalletSink(self._wallet_channel), RatingSink(self._rating_channel)],
            AiSeats(self.bots, self.steady, pace_ms=0, timeout_ms=1_000),
            self.ownership,
            self.standstill,
        )
        self.interventions = Interventions(self.tables, self.journal, operators, self.steady)
        me = Myself(self.engine, self.engine, f"run-{next(self._numbers)}", EVERY_KIND)
        self.sharing = Sharing(
            Members(self.database, self.lease_ms, lambda _: self.clock.now_ms())
            if self.has_real_members
            else LosableMembers(self.members, self.journal),
            me,
            self.ownership,
            self.tables,
            self.steady,
            self.standstill,
            self.bells,
            RENEW_EVERY_MS,
        )
        self._spawn(commit.run(), self.tables.timers.run(), self.tables.recovery.run())
        await self.sharing.join()
        self._spawn(self.sharing.run())
        if not stuck:
            await self.tables.recovery.over()

    def watch_the_process(self) -> None:
        """Notice time in which nothing ran; from now on ``pass_ms`` lets it pass."""
        self._spawn(self.standstill.run())

    def forget_renewals(self) -> None:
        """As if no engine had ever lived."""
        self.members.forget()

    async def pass_ms(self, ms: int) -> None:
        """Let time pass while everything runs."""
        for left_ms in range(ms, 0, -BEAT_MS):
            self.clock.advance_ms(min(left_ms, BEAT_MS))
            await self.settled()
            # A disk is slower than virtual time.
            await self.journal.answered()

    def _spawn(self, *work: Coroutine[Any, Any, None]) -> None:
        self._tasks += [asyncio.create_task(each) for each in work]

    async def crash(self) -> None:
        await self.tables.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        await self.database.close()

    async def stop(self) -> None:
        await self.crash()
        await self._doubles.aclose()

    def request(self, player: str, content: str = "", request_id: str = "") -> Request:
        name = request_id or f"request-{next(self._numbers)}"
        return Request(player, name, content.encode().ljust(32, b"."))

    async def open(self, config: TableConfig | None = None, player: str = "anna") -> TableActor:
        chosen = config or TableConfig(TABLE_ID, seat_count=2, rules=DEFAULT_RULE_SET)
        command = c.OpenTable(chosen, player)
        names = ((player, player.title()),)
        actor, _ = await self.tables.open(command, self.request(player), names)
        return actor

    async def dealt(
        self, config: TableConfig | None = None, players: tuple[str, str] = ("anna", "bert")
    ) -> TableActor:
        """A table of two people where the first turn runs."""
        first, second = players
        actor = await self.open(config, first)
        names = ((second, second.title()),)
        await actor.submit(c.TakeSeat(second), self.request(second), names)
        await until(actor, lambda state: state.phase is Phase.COUNTDOWN)
        await self.pass_countdown(actor)
        return actor

    async def reloaded(self, actor: TableActor) -> TableActor:
        """The table's next actor, once the engine has let this one go."""
        async with asyncio.timeout(10):
            while True:
                try:
                    return await self.tables.get(actor.table_id)
                except TableReloading:
                    await asyncio.sleep(0)

    async def pass_countdown(self, actor: TableActor) -> None:
        await self.ring(actor, c.TimerKind.COUNTDOWN)
        await until(actor, lambda state: state.round is not None)

    async def settled(self) -> None:
        """Let whatever can run now run, short of what waits for time or for others."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def ring(self, actor: TableActor, kind: c.TimerKind) -> None:
        """Let the time pass until that clock of the table is due."""
        (timer,) = [t for t in running_timers(actor.table) if t.kind is kind]
        before = actor.seq
        self.clock.advance_ms(max(0, timer.deadline_ms - self.clock.now_ms()))
        await until(actor, lambda _: actor.seq > before)


@asynccontextmanager
async def world_in(
    folder: Path, *, is_sealed: bool = True, snapshot_every_rows: int = 500
) -> AsyncIterator[World]:
    world = World(folder)
    world.snapshot_every_rows = snapshot_every_rows
    if not is_sealed:
        world.seal_keys = None
    await world.start()
    try:
        yield world
    finally:
        await world.stop()


async def next_of(watcher: Watcher) -> Sent | StreamEndReason.ValueType:
    """What comes next, or why nothing does, as a stream's writer takes it."""
    while (given := watcher.take()) is None:
        await watcher.news()
    return given


async def until(actor: TableActor, is_there: Callable[[TableState], bool]) -> None:
    """Return when the table's state is as asked for; fails after ten seconds."""
    watcher: Watcher = actor.watchers.add("", with_view=False)
    try:
        async with asyncio.timeout(10):
            while not is_there(actor.table):
                await next_of(watcher)
    finally:
        actor.watchers.remove(watcher)


def turn_of(actor: TableActor) -> Turn:
    assert actor.table.round is not None
    assert actor.table.round.turn is not None
    return actor.table.round.turn


def mover(actor: TableActor) -> str:
    return actor.table.seats[turn_of(actor).seat].player


def plain_move(actor: TableActor) -> c.PlayerMove:
    """Draw from the stock, or discard what was drawn, for the seat to move."""
    turn = turn_of(actor)
    action: c.Action = c.Draw(c.DrawSource.STOCK)
    if turn.drawn is not None:
        action = c.Discard(turn.drawn)
    return c.PlayerMove(mover(actor), turn.number, action)
