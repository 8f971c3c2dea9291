"""Who asks for a match: led back to where it sits, or given a ticket.

Whoever is done at its table goes over in three steps, so that it has seat or ticket whatever fails:
the ticket is handed in and held back, the seat is given up, the ticket is let go. Where the second
step gives no answer the ticket stays, held for a while: asking again goes on from there, and if
nobody does, the player is led back by the match that it finds (W3).
"""

from dataclasses import replace
from typing import Final

from okey_runtime.clock import Clock
from okey_runtime.errors import RpcFailure
from services.lobby.engine_calls import CLOSED
from services.lobby.player_ratings import PlayerRatings
from services.lobby.ticket import (
    QuickMatchUnavailable,
    Ticket,
    TicketBeingSeated,
    TicketNotFound,
    TicketState,
    Wish,
)
from services.lobby.ticket_store import TicketStore
from services.lobby.whereabouts import Place, Whereabouts

HOLD_MS: Final = 10_000
"""How long a ticket is not matched while its player gives an old seat up; that takes less."""


_MATCHED: Final = (TicketState.SEATING, TicketState.SEATED)


class Asking:
    """Turns wishes into tickets."""

    def __init__(
        self, whereabouts: Whereabouts, ratings: PlayerRatings, tickets: TicketStore, clock: Clock
    ) -> None:
        self._whereabouts = whereabouts
        self._ratings = ratings
        self._tickets = tickets
        self._clock = clock

    async def ticket_for(self, wish: Wish, authorization: str) -> Ticket:
        """The player's ticket, SEATED at once where it is bound to a table (W3).

        ``authorization`` is the player's own metadata; the wish is rated here.

        Raises:
            TicketExists, PartyNotFound, QuickMatchFull, QuickMatchUnavailable: there is no ticket,
                and whoever sits keeps its seat.
            RpcFailure: the engine could not be asked; asking again goes on.
        """
        place = await self._whereabouts.of(authorization)
        if place is not None and not place.is_done:
            return self._led_back(wish.player, place)
        ratings = await self._ratings.of([wish.player], wish.terms.variant)
        rated = replace(wish, rating_milli=ratings[wish.player])
        if place is None:
            return await self._handed_in(rated, authorization)
        ticket = await self._tickets.enqueue(rated, HOLD_MS)
        table_id, request_id = place.sitting.table_id, f"next-{ticket.ticket_id}"
        if not await self._whereabouts.leave(authorization, table_id, request_id):
            await self.stop_waiting(wish.player)
            return self._led_back(wish.player, place)
        return await self._tickets.let_go(wish.player, ticket.ticket_id)

    async def _handed_in(self, wish: Wish, authorization: str) -> Ticket:
        """The engine is asked again once the ticket is there, so that none outlives what happened
        since the first look, unseen by whoever looked for a ticket then:

        - An erasure closes the id and then takes the ticket back; one that came in after that goes
          here, so that no name stays (``PLAYER_CLOSED``). Who has a seat cannot be erased.
        - Who sat down by itself waits no longer (W3).
        """
        ticket = await self._tickets.enqueue(wish)
        try:
            place = await self._whereabouts.of(authorization)
        except RpcFailure as failure:
            if failure.reason == CLOSED:
                await self.stop_waiting(wish.player)
            raise
        return ticket if place is None else await self._sitting_now(wish.player, place)

    async def _sitting_now(self, player: str, place: Place) -> Ticket:
        """The ticket that the seat came from, or led back where the player took it by itself."""
        await self.stop_waiting(player)
        ticket = await self._tickets.look(player)
        is_from_it = ticket.state in _MATCHED and ticket.table_id in ("", place.sitting.table_id)
        return ticket if is_from_it else self._led_back(player, place)

    async def sat_down(self, player: str, table_id: str, authorization: str) -> None:
        """Who sits down by itself no longer waits; the engine would refuse a second seat.

        But a request that comes again, late, sits nobody down: its seat was left meanwhile, and a
        ticket that was handed in since then goes on.
        """
        if await self._is_waiting(player) and await self._whereabouts.may_sit_at(
            table_id, authorization
        ):
            await self.stop_waiting(player)

    async def _is_waiting(self, player: str) -> bool:
        try:
            return (await self._tickets.look(player)).state.is_live
        except (TicketNotFound, QuickMatchUnavailable):
            return False

    async def stop_waiting(self, player: str) -> None:
        """Take the ticket back, if there is one that can be."""
        try:
            await self._tickets.cancel(player)
        except (TicketNotFound, TicketBeingSeated, QuickMatchUnavailable):
            return

    def _led_back(self, player: str, place: Place) -> Ticket:
        """Whatever was asked for, what is played for is that table's."""
        return Ticket(
            player=player,
            ticket_id="",
            terms=place.terms,
            state=TicketState.SEATED,
            enqueued_ms=self._clock.now_ms(),
            table_id=place.sitting.table_id,
            seat=place.sitting.seat,
        )
