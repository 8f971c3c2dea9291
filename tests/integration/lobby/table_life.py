"""What happens at tables beside quick match: players make them, sit down, get up, and finish."""

import random
from collections.abc import Awaitable, Callable
from itertools import count

from services.lobby.match_tables import Sits
from services.lobby.terms import Terms
from services.lobby.ticket import QuickMatchUnavailable, TicketBeingSeated, TicketNotFound
from services.lobby.ticket_store import TicketStore
from tests.fixtures.match_tables import MemoryTables


class TableLife:
    """Tables created, seated, left and closed by the players themselves, as the seed has it.

    ``touched`` are the tables at which anything happened since it was cleared.
    """

    def __init__(
        self,
        chance: random.Random,
        tables: MemoryTables,
        store: TicketStore,
        players: list[str],
        terms: tuple[Terms, ...],
    ) -> None:
        self.touched: set[str] = set()
        self.made: set[str] = set()
        self.walked_out_of: set[str] = set()
        self.walked: set[str] = set()
        self.finished: set[str] = set()
        self.sat_down: set[tuple[str, str]] = set()
        """Player and table of everybody who has sat down without quick match."""
        self._chance = chance
        self._tables = tables
        self._store = store
        self._players = players
        self._terms = terms
        self._wishes = count(1)

    async def goes_on(self) -> None:
        """One thing happens."""
        happening: Callable[[], Awaitable[None]] = self._chance.choice(
            (self.a_table_is_made, self.somebody_joins, self.somebody_leaves, self.a_match_ends)
        )
        await happening()

    async def a_table_is_made(self) -> None:
        player, terms = self._chance.choice(self._players), self._chance.choice(self._terms)
        answer = await self._tables.open(self._wish(), player, player, terms, 0)
        if isinstance(answer, Sits):
            self.made.add(answer.table_id)
            await self._has_sat_down(player, answer.table_id)

    async def somebody_joins(self) -> None:
        table_id = self._one_of([t for t in self._open() if not self._tables.tables[t].is_full])
        if table_id is None:
            return
        table, player = self._tables.tables[table_id], self._chance.choice(self._players)
        free = [seat for seat in range(table.terms.seat_count) if seat not in table.players]
        seat = self._chance.choice(free)
        answer = await self._tables.take(table_id, self._wish(), player, player, seat)
        if isinstance(answer, Sits):
            await self._has_sat_down(player, table_id)

    async def somebody_leaves(self) -> None:
        """Gets up from a table whose match has not begun."""
        player = self._chance.choice(self._players)
        table_id = self._tables.where(player)
        if table_id is not None and not self._tables.tables[table_id].is_playing:
            self._tables.walk_out(table_id, player)
            self.touched.add(table_id)
            self.walked_out_of.add(table_id)
            self.walked.add(player)

    async def a_match_ends(self) -> None:
        playing = [each for each, table in self._tables.tables.items() if table.is_playing]
        table_id = self._one_of([each for each in playing if each not in self.finished])
        if table_id is not None:
            self._tables.finish(table_id)
            self.touched.add(table_id)
            self.finished.add(table_id)

    async def _has_sat_down(self, player: str, table_id: str) -> None:
        """As the lobby does: its ticket is taken back, unless the replica dies before that."""
        self.touched.add(table_id)
        self.sat_down.add((player, table_id))
        if self._chance.random() < 0.2:
            return
        try:
            await self._store.cancel(player)
        except (TicketNotFound, TicketBeingSeated, QuickMatchUnavailable):
            return

    def _open(self) -> list[str]:
        return [
            table_id
            for table_id, table in self._tables.tables.items()
            if not table.is_closed and not table.is_playing
        ]

    def _one_of(self, table_ids: list[str]) -> str | None:
        return self._chance.choice(table_ids) if table_ids else None

    def _wish(self) -> str:
        return f"wish-{next(self._wishes)}"
