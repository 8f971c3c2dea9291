"""Quick match: brings waiting tickets with the same terms to one table.

Any number of replicas run this at once. A ticket is claimed before its player is seated, so no two
replicas seat one ticket; and the engine lets nobody sit twice, so no crash in between seats anybody
twice either. Who is refused drops out alone; the others keep their place in the queue.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import grpc

from okey_runtime.background import repeat
from okey_runtime.clock import Clock
from okey_runtime.errors import RpcFailure
from okey_runtime.logging import get_logger
from services.lobby.engine_tables import EngineTables, Sitting
from services.lobby.metrics import DROPPED, SEATED
from services.lobby.table_list import TableList, TableListUnavailable
from services.lobby.terms import Terms
from services.lobby.ticket import Claim
from services.lobby.ticket_store import TicketStore
from services.lobby.wire import terms_from

PASS_MS: Final = 250
"""How often a replica passes over the queues."""

_TABLES_AT_ONCE: Final = 8

_log = get_logger(__name__)

_OUTCOME_UNKNOWN: Final = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
    }
)
"""The engine may have seated the player all the same: the claim's lease ends, then one looks."""

_NOT_THE_PLAYERS_FAULT: Final = frozenset(
    {
        "NO_FREE_SEAT",
        "SEAT_TAKEN",
        "SEATS_NOT_OPEN",
        "TABLE_NOT_FOUND",
        "TABLE_CLOSED",
        "TABLE_BUSY",
        "ENGINE_BUSY",
        "MAINTENANCE",
    }
)
"""Refusals that are about the table or the engine: the ticket goes back to its place."""


class Matchmaker:
    """Seats the players of waiting tickets."""

    def __init__(
        self, store: TicketStore, tables: TableList, engine: EngineTables, clock: Clock
    ) -> None:
        self._store = store
        self._tables = tables
        self._engine = engine
        self._clock = clock
        self._tried: set[tuple[str, int]] = set()

    async def run(self) -> None:
        """Pass over the queues for as long as the service lives."""
        await repeat("quick-match", self.run_once, PASS_MS, self._clock)

    async def run_once(self) -> None:
        """One pass: lost claims first, then free seats at open tables, then new tables.

        Raises:
            QuickMatchUnavailable: Redis is away.
            RpcFailure: the engine could not be asked about a lost claim.
        """
        await self._take_up_lost_claims()
        for terms in await self._store.waiting_terms():
            await self._fill_open_tables(terms)
            await self._open_new_tables(terms)

    async def _take_up_lost_claims(self) -> None:
        for claim in await self._store.reclaim():
            sitting = await self._engine.find(claim.player)
            if sitting is None:
                await self._store.put_back(claim)
            else:
                await self._seated(claim, sitting)

    async def _fill_open_tables(self, terms: Terms) -> None:
        try:
            copy = await self._tables.newest()
        except TableListUnavailable:
            return  # new tables can be opened without the list
        # A copy shows a seat as free for a while after it was filled: one try a table and copy.
        self._tried = {
            (table_id, as_of) for table_id, as_of in self._tried if as_of == copy.as_of_ms
        }
        for table in copy.tables:
            key = (table.table_id, copy.as_of_ms)
            if not table.is_joinable or table.kasa or key in self._tried:
                continue
            if terms_from(table.terms) != terms:
                continue
            free = terms.seat_count - len(table.taken_seats)
            claims = await self._store.claim(terms, at_least=1, at_most=free)
            if not claims:
                return
            self._tried.add(key)
            await asyncio.gather(*(self.seat(claim, table.table_id) for claim in claims))

    async def _open_new_tables(self, terms: Terms) -> None:
        is_engine_there = True
        while is_engine_there:
            groups: list[list[Claim]] = []
            while len(groups) < _TABLES_AT_ONCE:
                group = await self._store.claim(
                    terms, at_least=terms.seat_count, at_most=terms.seat_count
                )
                if not group:
                    break
                groups.append(group)
            if not groups:
                return
            is_engine_there = all(
                await asyncio.gather(*(self._open_for(terms, group) for group in groups))
            )

    async def _open_for(self, terms: Terms, claims: Sequence[Claim]) -> bool:
        """Seat the group at a table of its own; says whether the engine gave an answer."""
        first, *others = claims
        try:
            sitting = await self._engine.open_table(
                _request_id(first), first.player, first.display_name, terms
            )
        except RpcFailure as failure:
            await self._refused(first, failure)
            await asyncio.gather(*map(self._store.put_back, others))
            return failure.code not in _OUTCOME_UNKNOWN
        await self._seated(first, sitting)
        await asyncio.gather(*(self.seat(claim, sitting.table_id) for claim in others))
        return True

    async def seat(self, claim: Claim, table_id: str) -> None:
        """Seat the claimed player at that table, unless the claim's lease is over."""
        if self._clock.now_ms() >= claim.until_ms:
            return  # another replica takes the claim up
        try:
            sitting = await self._engine.take_seat(
                table_id, _request_id(claim), claim.player, claim.display_name
            )
        except RpcFailure as failure:
            await self._refused(claim, failure)
        else:
            await self._seated(claim, sitting)

    async def _refused(self, claim: Claim, failure: RpcFailure) -> None:
        if failure.reason == "ALREADY_SEATED":
            # Led back to where it sits (W3).
            table_id = failure.metadata.get("table_id", "")
            if table_id:
                sitting = await self._engine.find_at(table_id, claim.player)
            else:
                sitting = await self._engine.find(claim.player)
            if sitting is None:
                await self._store.put_back(claim)  # it left meanwhile
            else:
                await self._seated(claim, sitting)
        elif failure.reason in _NOT_THE_PLAYERS_FAULT:
            await self._store.put_back(claim)
        elif failure.code in _OUTCOME_UNKNOWN:
            _log.warning("seating_outcome_unknown", player_id=claim.player, error=str(failure))
        else:
            await self._store.dropped(claim, failure.reason or failure.code.name)
            DROPPED.labels(failure.reason or failure.code.name).inc()

    async def _seated(self, claim: Claim, sitting: Sitting) -> None:
        await self._store.seated(claim, sitting.table_id, sitting.seat)
        SEATED.inc()


def _request_id(claim: Claim) -> str:
    """The same for every try to seat this ticket, so that a repeated call seats once."""
    return f"quick-{claim.ticket_id}"
