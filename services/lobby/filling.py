"""Free seats at tables that wait already: quick match fills those first, so that nobody who opened
a table waits beside tickets that fit.

A ticket fits a table if everybody there lies in its rating window. Each ticket, or party, takes its
seats on its own: the people who sit there are not touched by what becomes of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from okey.rules.variant import Mode
from okey_runtime.clock import Clock
from services.lobby.group import Group, group_of, new_group_id
from services.lobby.match_tables import Look, MatchTables, Unknown, players_of
from services.lobby.player_ratings import PlayerRatings
from services.lobby.table_list import TableList, TableListUnavailable
from services.lobby.teams import SIDES
from services.lobby.terms import Terms
from services.lobby.ticket import TicketState
from services.lobby.ticket_store import TicketStore
from services.lobby.waiting import PARTY_SIZE, Unit
from services.lobby.windows import RatingWindow
from services.lobby.wire import terms_from

_MOST_LOOKED_AT: Final = 16


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table with a free seat; ``may_have_bots`` where bots fill it after a while (W5)."""

    table_id: str
    may_have_bots: bool = False


class OpenTables(Protocol):
    """The tables that anybody may join, as a list that may be a moment old tells."""

    async def with_free_seats(self, terms: Terms) -> tuple[int, Sequence[OpenTable]]:
        """Since when the list stands, and its tables with these terms, a free seat and no kasa from
        earlier matches.
        """
        ...


class ListedTables:
    """``OpenTables`` out of the table list."""

    def __init__(self, tables: TableList) -> None:
        self._tables = tables

    async def with_free_seats(self, terms: Terms) -> tuple[int, Sequence[OpenTable]]:
        """Nothing while there is no list: new tables can be opened without it."""
        try:
            copy = await self._tables.newest()
        except TableListUnavailable:
            return 0, ()
        return copy.as_of_ms, [
            OpenTable(table.table_id, bool(table.house_fill_after_ms))
            for table in copy.tables
            if table.is_joinable and not table.kasa and terms_from(table.terms) == terms
        ]


class Filling:
    """Finds seats at open tables for waiting units."""

    def __init__(
        self,
        open_tables: OpenTables,
        tables: MatchTables,
        ratings: PlayerRatings,
        tickets: TicketStore,
        window: RatingWindow,
        clock: Clock,
        new_id: Callable[[], str] = new_group_id,
    ) -> None:
        self._open_tables = open_tables
        self._tables = tables
        self._ratings = ratings
        self._tickets = tickets
        self._window = window
        self._clock = clock
        self._new_id = new_id
        self._tried: set[tuple[str, int]] = set()

    async def groups_for(
        self, terms: Terms, units: Sequence[Unit]
    ) -> tuple[list[Group], list[Unit]]:
        """Groups that fill free seats, and the units that are left over.

        A list shows a seat as free for a while after it was filled: one try a table and list.
        """
        left = sorted(units, key=lambda unit: unit.order)
        if not left:
            return [], left
        as_of_ms, listed = await self._open_tables.with_free_seats(terms)
        self._tried = {(table, as_of) for table, as_of in self._tried if as_of == as_of_ms}
        untried = [table for table in listed if (table.table_id, as_of_ms) not in self._tried]
        groups: list[Group] = []
        for table in untried[:_MOST_LOOKED_AT]:
            if not left:
                break
            look = await self._tables.look(table.table_id)
            if isinstance(look, Unknown):
                break  # the engine is away, and other buckets wait
            ratings = await self._ratings_of(look, terms)
            if look is None or not ratings:
                continue
            found = self._sit_down(terms, table, look, list(ratings.values()), left)
            if found:
                self._tried.add((table.table_id, as_of_ms))
                groups += found
        return groups, left

    async def _ratings_of(self, look: Look | None, terms: Terms) -> dict[str, int]:
        """The ratings of the people at an open table; none where nobody sits, or where some are
        only just being seated there by quick match.
        """
        players = players_of(look.chairs) if look and look.is_open else []
        if not players:
            return {}
        tickets = await self._tickets.look_at_all(players)
        if any(ticket and ticket.state is TicketState.SEATING for ticket in tickets):
            return {}
        return dict(await self._ratings.of(players, terms.variant))

    def _sit_down(
        self, terms: Terms, table: OpenTable, look: Look, ratings: list[int], left: list[Unit]
    ) -> list[Group]:
        """Groups for the table's free seats; who gets one is no longer ``left``."""
        taken = {chair.seat for chair in look.chairs}
        free = [seat for seat in range(terms.seat_count) if seat not in taken]
        groups: list[Group] = []
        for unit in list(left):
            seats = _seats_for(unit, free, terms.mode)
            if not seats or not self._fits(unit, table, ratings):
                continue
            seated = zip(unit.tickets, seats, strict=True)
            groups.append(group_of(self._new_id(), terms, list(seated), table.table_id))
            free = [seat for seat in free if seat not in seats]
            left.remove(unit)
        return groups

    def _fits(self, unit: Unit, table: OpenTable, ratings: list[int]) -> bool:
        if table.may_have_bots and not unit.fill_ms:
            return False
        reach = self._window.reach_milli(self._clock.now_ms() - unit.since_ms)
        return all(ticket.avoided != table.table_id for ticket in unit.tickets) and all(
            abs(rating - unit.rating_milli) <= reach for rating in ratings
        )


def _seats_for(unit: Unit, free: Sequence[int], mode: Mode) -> tuple[int, ...]:
    """Free seats for the unit, none if it does not fit; partners sit opposite (O2)."""
    if unit.size < PARTY_SIZE:
        return tuple(free[:1])
    sides = SIDES if mode is Mode.ESLI else ()
    return next((side for side in sides if set(side) <= set(free)), ())
