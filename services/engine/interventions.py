"""What operators and audits do to tables: stop, release and end them, and begin no new ones."""

from okey.table import commands as c
from okey_runtime.clock import Clock
from okey_runtime.logging import get_logger
from services.engine.accepted import Accepted
from services.engine.actor import TableActor
from services.engine.errors import NoSuchTable
from services.engine.journal import Journal
from services.engine.operators import Operators
from services.engine.record import Request
from services.engine.tables import Tables

_log = get_logger(__name__)


class Interventions:
    """Decides over the tables of this engine."""

    def __init__(
        self, tables: Tables, journal: Journal, operators: Operators, clock: Clock
    ) -> None:
        self._tables = tables
        self._journal = journal
        self._operators = operators
        self._clock = clock

    async def release(self, table_id: str) -> TableActor:
        """Let a table go and load it again from its journal; its streams end, resumably.

        The clocks of a table that stood still go on with what they had left then.
        """
        await self._tables.settled(table_id)
        stopped = await self._tables.quarantine.lift(table_id)
        if stopped is None and not self._tables.is_in_memory(table_id):
            return await self._tables.get(table_id)
        self._tables.drop(table_id)
        return await self._tables.load(table_id, stopped.at_ms if stopped else self._clock.now_ms())

    async def void(self, table_id: str, command: c.Command, request: Request) -> Accepted:
        """Have an operator's command decided, also at a table that stands still: that goes on only
        if the command is accepted, and nobody else can use it before.

        Raises ``TableQuarantined`` where the table cannot be read, or why it is refused.
        """
        await self._tables.settled(table_id)
        if table_id in self._tables.quarantine.tables:
            async with self._tables.quarantine.suspended(table_id, self._tables.drop) as stopped:
                if stopped is not None:
                    actor = await self._tables.load(table_id, stopped.at_ms)
                    return await actor.submit(command, request)
        return await (await self._tables.get(table_id)).submit(command, request)

    def close_voided(self, table_id: str) -> None:
        """A table was voided past its journal: it is no more."""
        self._tables.quarantine.forget(table_id)
        self._tables.overdue.forget(table_id)

    async def quarantine(self, table_id: str, reason: str) -> bool:
        """Let a table go and keep it still until it is released; whether it was not still before.

        Raises ``NoSuchTable``.
        """
        await self._tables.settled(table_id)
        if (
            table_id not in self._tables.quarantine.tables
            and await self._journal.registered(table_id) is None
        ):
            raise NoSuchTable(f"there is no table {table_id}")
        has_changed = await self._tables.quarantine.stop(table_id, reason)
        self._tables.put_off(table_id)
        self._tables.drop(table_id)
        return has_changed

    async def set_maintenance(self, is_on: bool, operator: str) -> None:
        """Start no new tables and matches, or do so again; it outlives this process."""
        await self._operators.set_maintenance(is_on, operator, self._clock.now_ms())
        _log.warning("maintenance_set", is_on=is_on, operator=operator)
        self._tables.maintenance.follow(is_on)
