"""Players' tickets in Redis: each change is one atomic script, so any replica may make it.

The keys are listed in ``ticket_scripts``; what the matchmaker does is in ``group_store``.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from redis.asyncio import Redis

from okey_runtime.clock import Clock
from okey_runtime.idempotency import differing
from services.lobby.terms import Terms
from services.lobby.ticket import (
    PartyNotFound,
    QuickMatchFull,
    Ticket,
    TicketBeingSeated,
    TicketExists,
    TicketNotFound,
    TicketState,
    Wish,
)
from services.lobby.ticket_scripts import (
    KEEP_MS,
    PREFIX,
    SILENCE_LIMIT_MS,
    or_unavailable,
    script,
    text,
    ticket_key,
)

MOST_LIVE: Final = 100_000
"""How many tickets may be live at once."""

Shown = tuple[int, bytes, list[bytes]]
"""What scripts answer: how many wait, how long one waited lately, the ticket's fields."""


class TicketStore:
    """The tickets of all players; ``clock`` tells the time that is stored, alike on all replicas to
    a second or so.
    """

    def __init__(self, redis: Redis, clock: Clock, most_live: int = MOST_LIVE) -> None:
        self._clock = clock
        self._most_live = most_live
        self._enqueue, self._let_go, self._touch, self._cancel, self._list = (
            script(redis, name) for name in ("enqueue", "let_go", "touch", "cancel", "list")
        )

    async def enqueue(self, wish: Wish, held_ms: int = 0) -> Ticket:
        """Hand a ticket in, or get the live one that asks for the same; it is not matched within
        the next ``held_ms``, unless it is let go before.

        Raises:
            TicketExists: the player's live ticket asks for something else.
            PartyNotFound: nobody waits for a partner under the code.
            QuickMatchFull: too many tickets are live.
            QuickMatchUnavailable: Redis is away.
        """
        args = [wish.player, wish.ticket_id, wish.terms.bucket, wish.display_name]
        args += [str(wish.rating_milli), str(wish.house_fill_after_ms), wish.party_code]
        args += [str(int(wish.opens_party)), str(SILENCE_LIMIT_MS), str(KEEP_MS)]
        args += [str(self._most_live), str(self._clock.now_ms() + held_ms if held_ms else 0)]
        with or_unavailable():
            verdict, answer = await self._enqueue(
                keys=[ticket_key(wish.player)], args=self._args(*args)
            )
        match text(verdict):
            case "NO_PARTY":
                raise PartyNotFound(
                    f"nobody waits for a partner under {wish.party_code!r}: ask for a new code"
                )
            case "FULL":
                raise QuickMatchFull(
                    f"{self._most_live} tickets are live, and no more are taken: try again later"
                )
        ticket = _or_not_found(wish.player, ticket_of(wish.player, answer))
        differs = () if ticket.ticket_id == wish.ticket_id else _differs(ticket, wish)
        if differs:
            raise TicketExists(wish.player, ticket.ticket_id, differs)
        return ticket

    async def let_go(self, player: str, ticket_id: str) -> Ticket:
        """Let that ticket be matched from now on; the player's newest one, if it is another.

        Raises:
            TicketNotFound: there is none.
            QuickMatchUnavailable: Redis is away.
        """
        with or_unavailable():
            answer = await self._let_go(
                keys=[ticket_key(player)], args=self._args(player, ticket_id)
            )
        return _or_not_found(player, ticket_of(player, answer))

    async def touch(self, player: str) -> Ticket:
        """The player's newest ticket, kept alive by the question.

        Raises:
            TicketNotFound: there is none.
            QuickMatchUnavailable: Redis is away.
        """
        return _or_not_found(player, (await self.touch_all([player]))[0])

    async def touch_all(self, players: Sequence[str]) -> list[Ticket | None]:
        """The newest ticket of each of these players, kept alive by the question.

        Raises:
            QuickMatchUnavailable: Redis is away.
        """
        return _tickets(players, await self.touch_unread(players))

    async def touch_unread(self, players: Sequence[str]) -> list[Shown]:
        """The same as Redis answers it, for ``ticket_of``; its last part changes only when
        something happens to the ticket.

        Raises:
            QuickMatchUnavailable: Redis is away.
        """
        return await self._read(players, is_client=True)

    async def look(self, player: str) -> Ticket:
        """The player's newest ticket as others look at it: it is not kept alive.

        Raises:
            TicketNotFound: there is none.
            QuickMatchUnavailable: Redis is away.
        """
        return _or_not_found(player, (await self.look_at_all([player]))[0])

    async def look_at_all(self, players: Sequence[str]) -> list[Ticket | None]:
        """The newest ticket of each of these players; none is kept alive.

        Raises:
            QuickMatchUnavailable: Redis is away.
        """
        return _tickets(players, await self._read(players, is_client=False))

    async def list_live(self, after: int, at_most: int) -> list[tuple[int, Ticket]]:
        """Live tickets after a place in the order of arrival, each with its place.

        Raises:
            QuickMatchUnavailable: Redis is away.
        """
        with or_unavailable():
            rows = await self._list(keys=[PREFIX], args=self._args(str(after), str(at_most)))
        found = [(text(player), shown) for player, shown in rows]
        tickets = [(shown, ticket_of(player, shown)) for player, shown in found]
        return [(_order(shown), ticket) for shown, ticket in tickets if ticket is not None]

    async def cancel(self, player: str, reason: str = "") -> Ticket:
        """Take the player's waiting ticket back; one that is over stays as it is.

        Raises:
            TicketNotFound: there is none.
            TicketBeingSeated: the seat is being taken right now.
            QuickMatchUnavailable: Redis is away.
        """
        with or_unavailable():
            answer = await self._cancel(keys=[ticket_key(player)], args=self._args(player, reason))
        ticket = _or_not_found(player, ticket_of(player, answer))
        if ticket.state is TicketState.SEATING:
            raise TicketBeingSeated(
                f"ticket {ticket.ticket_id} of {player} has found its match: "
                "leave the table instead"
            )
        return ticket

    async def _read(self, players: Sequence[str], *, is_client: bool) -> list[Shown]:
        limits = [str(SILENCE_LIMIT_MS), str(KEEP_MS), str(int(is_client))]
        with or_unavailable():
            answers = await self._touch(
                keys=[ticket_key(players[0])], args=self._args(*limits, *players)
            )
        shown: list[Shown] = answers
        return shown

    def _args(self, *args: str) -> list[str]:
        return [PREFIX, str(self._clock.now_ms()), *args]


def _differs(ticket: Ticket, wish: Wish) -> tuple[str, ...]:
    """What the ticket asks for and the wish does not, by field; none where it is the same wish."""
    if wish.party_code and not wish.opens_party:
        return () if ticket.party_code == wish.party_code else ("party_code",)
    return differing(
        {
            **asdict(ticket.terms),
            "house_fill_after_ms": ticket.house_fill_after_ms,
            "party": bool(ticket.party_code),
        },
        {
            **asdict(wish.terms),
            "house_fill_after_ms": wish.house_fill_after_ms,
            "party": wish.opens_party,
        },
    )


def _or_not_found(player: str, ticket: Ticket | None) -> Ticket:
    if ticket is None:
        raise TicketNotFound(f"{player} has no ticket: hand one in with EnqueueTicket")
    return ticket


def _tickets(players: Sequence[str], shown: Sequence[Shown]) -> list[Ticket | None]:
    return [ticket_of(player, each) for player, each in zip(players, shown, strict=True)]


def ticket_of(player: str, shown: Shown) -> Ticket | None:
    """The ticket as ``shown`` in prelude.lua answers it; None where there is none."""
    waiting_count, typical, fields = shown
    if not fields:
        return None
    bucket, ticket_id, stored_state, _, enqueued, since, rating, fill, *rest = map(text, fields)
    table_id, seat, reason, code, partner, name = rest
    state = TicketState(stored_state)
    return Ticket(
        player=player,
        ticket_id=ticket_id,
        terms=Terms.from_bucket(bucket),
        state=state,
        enqueued_ms=int(enqueued),
        since_ms=int(since),
        rating_milli=int(rating),
        table_id=table_id,
        seat=int(seat or 0),
        reason=reason,
        waiting_count=waiting_count if state.is_live else 0,
        typical_wait_ms=int(typical) if state.is_live else 0,
        party_code=code,
        partner=partner,
        house_fill_after_ms=int(fill),
        display_name=name,
    )


def _order(shown: Shown) -> int:
    return int(shown[2][3])
