"""What operators and audits have decided: it outlives the engine's process."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, delete, select, update

from okey_runtime.database import Database, Isolation
from services.engine.schema import (
    quarantined,
    seated,
    snapshots,
    switches,
    tables,
    voided,
)
from services.engine.set_based import insert_new, put

_WRITES: Final = Isolation.READ_COMMITTED
_MAINTENANCE: Final = "maintenance"


@dataclass(frozen=True, slots=True)
class Stopped:
    """Since when a table stands still, and why."""

    at_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class Voided:
    """Who voided a table whose rows do not replay, why, and the matches that the wallet is told
    of; ``is_done`` once it has answered everything.
    """

    at_ms: int
    operator: str
    reason: str
    match_ids: tuple[str, ...]
    is_done: bool


class Operators:
    """All methods raise ``DatabaseAway`` and ``DatabaseBusy``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def is_maintenance(self) -> bool:
        """Whether maintenance mode is on."""
        query = select(switches.c.is_on).where(switches.c.name == _MAINTENANCE)
        return bool(await self._database.read(lambda c: c.execute(query).scalar()))

    async def set_maintenance(self, is_on: bool, operator: str, now_ms: int) -> None:
        """Turn maintenance mode on or off."""
        row = {"name": _MAINTENANCE, "is_on": is_on, "operator": operator, "at_ms": now_ms}
        await self._database.transact(lambda c: put(c, switches, [row]), _WRITES)

    async def stopped(self) -> Mapping[str, Stopped]:
        """The tables that stand still, by id."""
        found = await self._database.read(lambda c: c.execute(select(quarantined)).all())
        return {row.table_id: Stopped(row.at_ms, row.reason) for row in found}

    async def stop(self, table_id: str, stopped: Stopped) -> None:
        """Note that the table stands still; the first reason stays."""
        row = {"table_id": table_id, "at_ms": stopped.at_ms, "reason": stopped.reason[:600]}
        await self._database.transact(lambda c: insert_new(c, quarantined, [row]), _WRITES)

    async def lift(self, table_id: str) -> None:
        """Note that the table goes on."""
        statement = delete(quarantined).where(quarantined.c.table_id == table_id)

        def work(connection: Connection) -> None:
            connection.execute(statement)

        await self._database.transact(work, _WRITES)

    async def voided(self, table_id: str) -> Voided | None:
        """How the table was voided past its journal, if it was."""
        query = select(voided).where(voided.c.table_id == table_id)
        row = await self._database.read(lambda c: c.execute(query).first())
        return None if row is None else _voided(row)

    async def all_voided(self) -> Mapping[str, Voided]:
        """Every table that was voided past its journal, by id."""
        found = await self._database.read(lambda c: c.execute(select(voided)).all())
        return {row.table_id: _voided(row) for row in found}

    async def begin_void(self, table_id: str, asked: Voided) -> Voided:
        """Note what is about to be done, before it is; what stands already stays."""
        row = {
            "table_id": table_id,
            "at_ms": asked.at_ms,
            "operator": asked.operator,
            "reason": asked.reason,
            "match_ids": ",".join(asked.match_ids),
            "is_done": False,
        }
        await self._database.transact(lambda c: insert_new(c, voided, [row]), _WRITES)
        return await self.voided(table_id) or asked

    async def finish_void(self, table_id: str, now_ms: int) -> None:
        """Close the table for good: its players are free, and nothing loads it any more."""
        close = (
            update(tables)
            .where(tables.c.table_id == table_id)
            .values(is_closed=True, is_retired=True, closed_ms=now_ms)
        )

        def work(connection: Connection) -> None:
            connection.execute(close)
            connection.execute(delete(seated).where(seated.c.table_id == table_id))
            connection.execute(delete(snapshots).where(snapshots.c.table_id == table_id))
            connection.execute(delete(quarantined).where(quarantined.c.table_id == table_id))
            done = update(voided).where(voided.c.table_id == table_id)
            connection.execute(done.values(is_done=True))

        await self._database.transact(work, _WRITES)


def _voided(row: Any) -> Voided:
    matches = tuple(filter(None, row.match_ids.split(",")))
    return Voided(row.at_ms, row.operator, row.reason, matches, row.is_done)
