"""The tables of this engine, with what operators and audits do to them."""

from okey.table import commands as c
from okey_runtime.logging import get_logger
from services.engine.accepted import Accepted
from services.engine.actor import TableActor
from services.engine.errors import NoSuchTable
from services.engine.record import Request
from services.engine.shared_tables import SharedTables

_log = get_logger(__name__)


class Tables(SharedTables):
    """Tables that can be stopped, released and ended."""

    async def release(self, table_id: str) -> TableActor:
        """Let a table go and load it again from its journal; its streams end, resumably.

        The clocks of a table that stood still go on with what they had left then.
        """
        await self._until_ready(table_id)
        self._refuse_if_not_ours(table_id)
        stopped = await self._quarantine.lift(table_id)
        if stopped is None and table_id not in self._actors:
            return await self.get(table_id)
        self._drop(table_id)
        return await self._load_once(table_id, stopped.at_ms if stopped else self._clock.now_ms())

    async def void(self, table_id: str, command: c.Command, request: Request) -> Accepted:
        """Have an operator's command decided, also at a table that stands still: that goes on only
        if the command is accepted, and nobody else can use it before.

        Raises ``TableQuarantined`` where the table cannot be read, or why it is refused.
        """
        await self._until_ready(table_id)
        self._refuse_if_not_ours(table_id)
        if table_id in self.quarantined:
            async with self._quarantine.suspended(table_id, self._drop) as stopped:
                if stopped is not None:
                    actor = await self._load_once(table_id, stopped.at_ms)
                    return await actor.submit(command, request)
        return await (await self.get(table_id)).submit(command, request)

    def close_voided(self, table_id: str) -> None:
        """A table was voided past its journal: it is no more."""
        self._quarantine.forget(table_id)

    async def quarantine(self, table_id: str, reason: str) -> bool:
        """Let a table go and keep it still until it is released; whether it was not still before.

        Raises ``NoSuchTable``.
        """
        await self._until_ready(table_id)
        self._refuse_if_not_ours(table_id)
        if table_id not in self.quarantined and await self._journal.registered(table_id) is None:
            raise NoSuchTable(f"there is no table {table_id}")
        has_changed = await self._quarantine.stop(table_id, reason)
        self._recovery.drop(table_id)
        self._drop(table_id)
        return has_changed

    def forget(self, player: str) -> None:
        """Show the player's name at no table any more."""
        for actor in self._actors.all_live():
            actor.names.pop(player, None)

    async def set_maintenance(self, is_on: bool, operator: str) -> None:
        """Start no new tables and matches, or do so again; it outlives this process."""
        await self._operators.set_maintenance(is_on, operator, self._clock.now_ms())
        _log.warning("maintenance_set", is_on=is_on, operator=operator)
        self._maintenance.follow(is_on)
