"""The hashes of invite codes, in the engine's database."""

from typing import Final

from sqlalchemy import Connection, delete, insert, select

from okey_runtime.database import Database, Isolation
from services.engine.schema import invites

KEPT: Final = 8
"""How many codes of a table hold, the newest: one for each time that its making was asked for."""


class InviteStore:
    """Both methods raise ``DatabaseAway`` and ``DatabaseBusy``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, table_id: str, code_hash: bytes, now_ms: int) -> None:
        """Let in who has a code of this hash, too."""
        row = {"table_id": table_id, "code_hash": code_hash, "made_ms": now_ms}
        older = (
            select(invites.c.code_hash)
            .where(invites.c.table_id == table_id)
            .order_by(invites.c.made_ms.desc(), invites.c.code_hash)
            .offset(KEPT)
        )

        def work(connection: Connection) -> None:
            connection.execute(insert(invites).values(row))
            passed = connection.execute(older).scalars().all()
            is_passed = (invites.c.table_id == table_id) & invites.c.code_hash.in_(passed)
            connection.execute(delete(invites).where(is_passed))

        await self._database.transact(work, Isolation.READ_COMMITTED)

    async def has(self, table_id: str, code_hash: bytes) -> bool:
        """Whether one of the table's codes has this hash."""
        query = select(invites.c.made_ms).where(
            invites.c.table_id == table_id, invites.c.code_hash == code_hash
        )
        return await self._database.read(lambda c: c.execute(query).first()) is not None
