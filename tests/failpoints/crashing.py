"""An engine and a wallet that crash at failpoints and start again on the same databases."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Final, TypeVar

from sqlalchemy import Connection, update

from okey.errors import Exhausted, Unavailable
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.events import Event
from okey.table.state import TableState, running_timers
from okey_runtime import failpoints
from okey_runtime.clock import VirtualClock
from okey_runtime.config import Environment
from okey_runtime.database import Database
from okey_runtime.patience import until_there
from services.engine import schema
from services.engine.accepted import Accepted
from services.engine.actor import TableActor
from services.engine.ai import AiSeats
from services.engine.group_commit import GroupCommit
from services.engine.journal import Journal
from services.engine.members import Members, Membership, Myself
from services.engine.operators import Operators
from services.engine.ownership import Ownership
from services.engine.record import EVERY_KIND, Request, Row, encode_events
from services.engine.sharing import Sharing
from services.engine.snapshots import Snapshots
from services.engine.standstill import Standstill, WatchedStore
from services.engine.steady_clock import SteadyClock
from services.engine.stores import Stores
from services.engine.tables import Tables
from services.engine.wallet_sink import WalletSink
from tests.driver import FAR, GOSTERGE, NORMAL, rack
from tests.factories import TABLE_ID
from tests.failpoints.door import WalletDoor
from tests.failpoints.faults import Plan, watch
from tests.failpoints.striking import ENGINE, WALLET, Striker
from tests.members import MemoryMembers
from tests.unit.engine.doubles import BotDouble
from tests.unit.engine.world import FOR_EVER_MS, RENEW_EVERY_MS, Bells

_PAUSE_S: Final = 0.001

T = TypeVar("T")


class Engine:
    """One life of the engine."""

    def __init__(
        self,
        url: str,
        clock: VirtualClock,
        wallet: WalletSink,
        members: Membership | None,
        plan: Plan | None,
    ) -> None:
        """Without ``members`` the board is in the database; ``plan`` says which statements fail."""
        self.gone: Final = asyncio.Event()
        self._database = Database(url)
        if plan is not None:
            watch(self._database, ENGINE, plan)
        self.journal = Journal(self._database, "engine")
        steady = SteadyClock(clock)
        still = Standstill(steady, stall_ms=2_000)
        commit = GroupCommit(WatchedStore(self.journal, still), steady)
        ai = AiSeats(BotDouble(), steady, pace_ms=0, timeout_ms=1_000)
        stores = Stores(self.journal, Snapshots(self._database), Operators(self._database))
        ownership = Ownership("engine", steady, FOR_EVER_MS)
        self.tables = Tables(stores, commit, steady, [wallet], ai, ownership, still)
        me = Myself("engine", "here", "this run", EVERY_KIND)
        members = members or Members(self._database, FOR_EVER_MS, lambda _: clock.now_ms())
        self.sharing = Sharing(
            members, me, ownership, self.tables, steady, still, Bells(), RENEW_EVERY_MS
        )
        work = (commit.run(), self.tables.timers.run(), self.tables.recovery.run())
        self._tasks = [asyncio.create_task(each) for each in work]

    async def join(self) -> None:
        """Take the tables, as soon as the database lets it."""
        await until_there(self.sharing.join)
        self._tasks.append(asyncio.create_task(self.sharing.run()))

    async def crash(self) -> None:
        """Stop where it is; what it has handed to the database may still be committed."""
        self.gone.set()
        await self.tables.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._database.close()


class Crashing:
    """One table's platform; every step of a scenario outlives the crashes, and the errors that a
    ``plan`` has the databases give.
    """

    def __init__(
        self, engine_url: str, wallet_url: str, striker: Striker, plan: Plan | None = None
    ) -> None:
        self.clock = VirtualClock()
        self.striker = striker
        self.door = WalletDoor(wallet_url, self.clock)
        self._plan = plan
        if plan is not None:
            watch(self.door.database, WALLET, plan)
        self.acknowledged: list[tuple[Request, int]] = []
        self.reader = Database(engine_url)
        self.journal = Journal(self.reader)
        self._url = engine_url
        self._members = MemoryMembers(self.clock.now_ms, FOR_EVER_MS) if plan is None else None
        self._numbers = count(1)
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        self._sink = WalletSink(await self.door.start())
        await self._boot()
        self._tending = asyncio.create_task(self._tend())

    async def stop(self) -> None:
        self._tending.cancel()
        await asyncio.gather(self._tending, return_exceptions=True)
        await self._engine.crash()
        await self.door.stop()
        await self.reader.close()

    # Crashing -------------------------------------------------------------------------------------

    async def _boot(self) -> None:
        self._engine = Engine(self._url, self.clock, self._sink, self._members, self._plan)
        await self._engine.join()

    async def _tend(self) -> None:
        while True:
            side = await self.striker.crashed.get()
            if side == ENGINE:
                await self._restart()
            else:
                await self.door.fall()
                self.striker.revive(side)
                self.door.rise()

    async def _restart(self, meanwhile: Callable[[Connection], None] | None = None) -> None:
        async with self._turn:
            await self._engine.crash()
            if meanwhile is not None:
                await self.reader.transact(meanwhile)
            self.striker.revive(ENGINE)
            await self._boot()

    # Steps ----------------------------------------------------------------------------------------

    async def open(self, config: TableConfig, player: str) -> None:
        """Open the table; the player's stake is asked for."""
        names = ((player, player.title()),)
        command = c.OpenTable(config, player)

        async def tried(request: Request) -> Accepted:
            _, accepted = await self._engine.tables.open(command, request, names)
            return accepted

        await self._acknowledged(player, tried)

    async def ask(self, player: str, command: c.Command) -> None:
        """Send a command until it is acknowledged, always as the same request."""

        async def tried(request: Request) -> Accepted:
            actor = await self._engine.tables.get(TABLE_ID)
            return await actor.submit(command, request)

        await self._acknowledged(player, tried)

    async def until(
        self, is_there: Callable[[TableState], bool], ring: c.TimerKind | None = None
    ) -> TableState:
        """Return the table once it is as asked for; ``ring`` lets that clock run down."""
        while True:
            engine = self._engine
            actor = await self._alive(lambda: self._engine.tables.get(TABLE_ID))
            if is_there(actor.table):
                return actor.table
            for timer in running_timers(actor.table):
                if timer.kind is ring:
                    self.clock.advance_ms(max(0, timer.deadline_ms - self.clock.now_ms()))
            await _changed(actor, engine)

    async def arrange(self, laid: str, stock: tuple[Tile, ...] | None = None) -> None:
        """Deal anew, as if by chance: seat 0 starts, with a hand that finishes by laying a tile."""
        rows = await self.journal.rows(TABLE_ID)
        asked = max(row.seq for row in rows if _has(row, e.MatchStartRequested))
        dealt = next(row for row in reversed(rows) if _has(row, e.RoundDealt))
        while (await self.journal.cursors(TABLE_ID)).get(self._sink.name, 0) < asked:
            pass
        payload = encode_events([_arranged(event, laid, stock) for event in dealt.events])
        journal = schema.journal
        place = (journal.c.table_id == TABLE_ID) & (journal.c.seq == dealt.seq)

        def put(connection: Connection) -> None:
            connection.execute(update(journal).where(place).values(payload=payload))

        await self._restart(put)

    async def until_told(self) -> None:
        """Return once the wallet knows all of the closed table."""
        while await self.journal.unretired("", 1):
            self._require_tended()

    async def _acknowledged(
        self, player: str, tried: Callable[[Request], Awaitable[Accepted]]
    ) -> None:
        request = Request(player, f"request-{next(self._numbers)}", player.encode().ljust(32))
        accepted = await self._alive(lambda: tried(request))
        self.acknowledged.append((request, accepted.seq))

    async def _alive(self, tried: Callable[[], Awaitable[T]]) -> T:
        """What it comes to, tried with the next engine where one has crashed over it."""
        while True:
            self._require_tended()
            async with self._turn:
                pass  # an engine is there, or will be before the next try
            [outcome] = await asyncio.gather(tried(), return_exceptions=True)
            if isinstance(outcome, Unavailable | Exhausted | asyncio.CancelledError):
                await asyncio.sleep(_PAUSE_S)  # nobody else would have a turn
                continue
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

    def _require_tended(self) -> None:
        if self._tending.done():
            self._tending.result()


@asynccontextmanager
async def crashing(
    engine_url: str, wallet_url: str, striker: Striker, plan: Plan | None = None
) -> AsyncIterator[Crashing]:
    """A running platform whose failpoints the striker watches, and its statements the plan."""
    platform = Crashing(engine_url, wallet_url, striker, plan)
    with failpoints.armed(Environment.TEST, striker.strike):
        await platform.start()
        try:
            async with asyncio.timeout(60):
                yield platform
        finally:
            await platform.stop()


async def _changed(actor: TableActor, engine: Engine) -> None:
    """Return when something has happened at the table, or its engine has crashed."""
    watcher = actor.watchers.add("", with_view=False)
    news = watcher.news()
    crash = asyncio.create_task(engine.gone.wait())
    try:
        await asyncio.wait((news, crash), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (news, crash):
            task.cancel()
        actor.watchers.remove(watcher)


def _has(row: Row, kind: type[Event]) -> bool:
    return any(isinstance(event, kind) for event in row.events)


def _arranged(event: Event, laid: str, stock: tuple[Tile, ...] | None) -> Event:
    match event:
        case e.RoundDealt():
            return replace(
                event,
                dealer=1,
                starter=0,
                gosterge=GOSTERGE,
                racks=(rack(f"{NORMAL} {laid}"), rack(FAR)),
                stock=event.stock if stock is None else stock,
            )
        case e.TurnStarted():
            return replace(event, seat=0)
        case _:
            return event
