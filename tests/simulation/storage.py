"""Databases of a simulated platform: SQLite in memory, behind a network that chance disturbs.

A transaction is carried out at one moment, by the database's own process: so one that was sent
before its sender died or fell asleep may still be committed afterwards.
"""

import asyncio
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from sqlalchemy import StaticPool, create_engine, event

from okey_runtime.clock import Clock
from okey_runtime.database import DatabaseAway, Isolation
from okey_runtime.migrations import migrate
from okey_runtime.storage import T, Work
from services.engine.caught import Caught
from tests.simulation.loop import SimulatedLoop, current
from tests.simulation.trace import Trace
from tests.simulation.weather import Crossing, Strike, Weather


class Disk:
    """One database server with one database; it outlives every crash of the services."""

    def __init__(
        self, name: str, migrations: Path, loop: SimulatedLoop, trace: Trace, clock: Clock
    ) -> None:
        self.name: Final = name
        self.process: Final = loop.process(name)
        self.loop: Final = loop
        self.trace: Final = trace
        self.is_away = False
        """Whether nobody reaches it now."""
        self._file = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._file.deserialize(_migrated(migrations))
        self._file.execute("PRAGMA foreign_keys = ON")
        # The database's own clock, as far as SQL can ask for it.
        self._file.create_function("julianday", 1, lambda _: _julian_day(clock.now_ms()))
        self._engine = create_engine(
            "sqlite+pysqlite://", creator=lambda: self._file, poolclass=StaticPool
        )
        event.listen(self._engine, "begin", lambda c: c.exec_driver_sql("BEGIN IMMEDIATE"))
        self._connection = self._engine.connect()

    def run(self, work: Work[T]) -> T:
        """Carry out one transaction."""
        with self._connection.begin():
            return work(self._connection)

    def close(self) -> None:
        """Forget everything."""
        self._connection.close()
        self._engine.dispose()
        self._file.close()


class SimulatedDatabase:
    """What a service has instead of ``okey_runtime.database.Database``."""

    dialect: Final = "sqlite"

    def __init__(self, disk: Disk, weather: Weather) -> None:
        self._disk = disk
        self._weather = weather
        self._owner = current()
        self._is_closed = False

    async def transact(self, work: Work[T], isolation: Isolation = Isolation.SERIALIZABLE) -> T:
        """As ``Database.transact``."""
        return await self._ask(work, "write")

    async def read(self, work: Work[T]) -> T:
        """As ``Database.read``."""
        return await self._ask(work, "read")

    async def close(self) -> None:
        """As ``Database.close``."""
        self._is_closed = True

    async def _ask(self, work: Work[T], kind: str) -> T:
        if self._is_closed:
            raise DatabaseAway("the database is closed: this process is stopping")
        loop, disk = self._disk.loop, self._disk
        answer: asyncio.Future[T] = loop.create_future()
        crossing = self._weather.transaction()
        if crossing.there_s and not disk.is_away:
            there_s, there = crossing.there_s[0], disk.process.context
            loop.call_later(there_s, self._serve, work, kind, answer, crossing, context=there)
        else:
            away = DatabaseAway("it does not answer, as the simulation says")
            self._reply(crossing.back_s, answer, None, away)
        # Cancelling whoever waits stops nothing that was sent.
        return await asyncio.shield(answer)

    def _serve(
        self, work: Work[Any], kind: str, answer: asyncio.Future[Any], crossing: Crossing
    ) -> None:
        """Carry it out, in the database's process, and send back what it came to."""
        disk, outcome = self._disk, None
        with Caught() as caught:
            outcome = disk.run(work)
        how = "" if caught.error is None else f" raised {type(caught.error).__name__}"
        disk.trace.event(f"{self._owner.name} {kind} {disk.name}{how}")
        error = caught.error
        if not crossing.is_answered:
            error = DatabaseAway("lost on the way back, as the simulation says")
        self._reply(crossing.back_s, answer, outcome, error)
        if crossing.sender is not Strike.NOTHING:
            self._weather.strike(self._owner, crossing.sender)

    def _reply(
        self, after_s: float, answer: asyncio.Future[Any], outcome: Any, error: Exception | None
    ) -> None:
        def arrive() -> None:
            if answer.done():
                return
            if error is None:
                answer.set_result(outcome)
            else:
                answer.set_exception(error)
                answer.exception()  # whoever asked may have gone

        self._disk.loop.call_later(after_s, arrive, context=self._owner.context)


@cache
def _migrated(migrations: Path) -> bytes:
    """A database with the newest schema, made once by the real migrations."""
    with tempfile.TemporaryDirectory(prefix="okey-simulation-") as folder:
        path = Path(folder) / "template.db"
        asyncio.run(migrate(f"sqlite:///{path}", migrations))
        file = sqlite3.connect(path)
        # What is copied into memory can have no log beside it.
        file.execute("PRAGMA journal_mode = DELETE")
        content = file.serialize()
        file.close()
        return content


def _julian_day(now_ms: int) -> float:
    """Half a millisecond more, so that rounding never takes one away."""
    return 2_440_587.5 + (now_ms + 0.5) / 86_400_000
