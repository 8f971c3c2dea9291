"""Quick-match tickets in Redis: each change is one atomic script, so any replica may make it.

Keys, all in one cluster slot by their hash tag, so that a script may touch several:

- ``okey:{quick-match}:ticket:<player>``  hash: ticket_id, bucket, state, name (while live),
enqueued_ms,
  seen_ms, order, and once over table_id, seat, reason; goes away by itself
- ``okey:{quick-match}:queue:<bucket>``   sorted set of waiting players by order of arrival
- ``okey:{quick-match}:buckets``          set of the buckets that have a queue
- ``okey:{quick-match}:leases``           sorted set of players being seated, by the end of the
claim - ``okey:{quick-match}:order``            counter of arrivals
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from okey.errors import Unavailable
from okey_runtime.clock import Clock
from services.lobby.terms import Terms
from services.lobby.ticket import (
    Claim,
    Ticket,
    TicketBeingSeated,
    TicketExists,
    TicketNotFound,
    TicketState,
)

SILENCE_LIMIT_MS: Final = 15_000
"""A waiting ticket whose client was not heard of for this long is over."""
LEASE_MS: Final = 15_000
"""How long a replica may take to seat the players that it has claimed."""
KEEP_MS: Final = 600_000
"""How long a ticket can be asked for after its last change."""

_PREFIX: Final = "okey:{quick-match}:"
_TICKET: Final = f"{_PREFIX}ticket:"
_QUEUE: Final = f"{_PREFIX}queue:"
_BUCKETS: Final = f"{_PREFIX}buckets"
_LEASES: Final = f"{_PREFIX}leases"
_ORDER: Final = f"{_PREFIX}order"
_SCRIPTS: Final = Path(__file__).with_name("scripts")


class QuickMatchUnavailable(Unavailable):
    """The store of tickets is away; tickets that were handed in are kept."""

    reason = "QUICK_MATCH_UNAVAILABLE"


class TicketStore:
    """The tickets of all players; ``clock`` tells the time that is stored, alike on all replicas to
    a second or so.
    """

    def __init__(self, redis: Redis, clock: Clock) -> None:
        self._redis = redis
        self._clock = clock
        self._enqueue, self._touch, self._cancel, self._claim, self._resolve, self._reclaim = (
            redis.register_script((_SCRIPTS / f"{name}.lua").read_text("utf-8"))
            for name in ("enqueue", "touch", "cancel", "claim", "resolve", "reclaim")
        )

    async def enqueue(self, player: str, display_name: str, ticket_id: str, terms: Terms) -> Ticket:
        """Hand a ticket in, or get the live one that has the same terms.

        Raises:
            TicketExists: the player's live ticket has other terms.
            QuickMatchUnavailable: Redis is away.
        """
        bucket = terms.bucket
        with _or_unavailable():
            answer = await self._enqueue(
                keys=[_TICKET + player, _QUEUE + bucket, _BUCKETS, _ORDER],
                args=[
                    player,
                    ticket_id,
                    bucket,
                    display_name,
                    self._clock.now_ms(),
                    SILENCE_LIMIT_MS,
                    KEEP_MS,
                    _QUEUE,
                ],
            )
        ticket = _ticket(player, answer)
        if ticket.terms != terms:
            raise TicketExists(
                f"{player} waits already, with other terms (ticket {ticket.ticket_id}): "
                "cancel that one first"
            )
        return ticket

    async def touch(self, player: str) -> Ticket:
        """The player's newest ticket, kept alive by the question.

        Raises:
            TicketNotFound: there is none.
            QuickMatchUnavailable: Redis is away.
        """
        with _or_unavailable():
            answer = await self._touch(
                keys=[_TICKET + player],
                args=[player, self._clock.now_ms(), SILENCE_LIMIT_MS, KEEP_MS, _QUEUE],
            )
        return _ticket(player, answer)

    async def cancel(self, player: str) -> Ticket:
        """Take the player's waiting ticket back; one that is over stays as it is.

        Raises:
            TicketNotFound: there is none.
            TicketBeingSeated: the seat is being taken right now.
            QuickMatchUnavailable: Redis is away.
        """
        with _or_unavailable():
            answer = await self._cancel(keys=[_TICKET + player], args=[player, _QUEUE])
        ticket = _ticket(player, answer)
        if ticket.state is TicketState.SEATING:
            raise TicketBeingSeated(
                f"ticket {ticket.ticket_id} of {player} has found its match: "
                "leave the table instead"
            )
        return ticket

    async def waiting_terms(self) -> list[Terms]:
        """The terms for which tickets wait, in a fixed order.

        Raises:
            QuickMatchUnavailable: Redis is away.
        """
        with _or_unavailable():
            buckets = await self._redis.smembers(_BUCKETS)
        return [Terms.from_bucket(bucket) for bucket in sorted(map(_text, buckets))]

    async def claim(self, terms: Terms, *, at_least: int, at_most: int) -> list[Claim]:
        """Take the longest waiting tickets off the queue to seat their players; none if too few
        wait.

        Raises:
            QuickMatchUnavailable: Redis is away; what was claimed comes back when its lease ends.
        """
        bucket, now_ms = terms.bucket, self._clock.now_ms()
        until_ms = now_ms + LEASE_MS
        with _or_unavailable():
            rows = await self._claim(
                keys=[_QUEUE + bucket, _BUCKETS, _LEASES],
                args=[bucket, now_ms, SILENCE_LIMIT_MS, at_least, at_most, until_ms, _TICKET],
            )
        return [_claim(row, until_ms) for row in rows]

    async def reclaim(self) -> list[Claim]:
        """Take over claims whose lease is over: whoever held them died or hangs.

        Raises:
            QuickMatchUnavailable: Redis is away.
        """
        now_ms = self._clock.now_ms()
        until_ms = now_ms + LEASE_MS
        with _or_unavailable():
            rows = await self._reclaim(keys=[_LEASES], args=[now_ms, until_ms, _TICKET])
        return [_claim(row, until_ms) for row in rows]

    async def seated(self, claim: Claim, table_id: str, seat: int) -> None:
        """The player sits; also where the claim was lost meanwhile, because the seat is real."""
        await self._end_claim(claim, TicketState.SEATED, table_id, seat, "")

    async def dropped(self, claim: Claim, reason: str) -> None:
        """The seat was refused to this player."""
        await self._end_claim(claim, TicketState.DROPPED, "", 0, reason)

    async def put_back(self, claim: Claim) -> None:
        """The ticket waits again, in its old place."""
        await self._end_claim(claim, TicketState.WAITING, "", 0, "")

    async def _end_claim(
        self, claim: Claim, state: TicketState, table_id: str, seat: int, reason: str
    ) -> None:
        with _or_unavailable():
            await self._resolve(
                keys=[_TICKET + claim.player, _LEASES, _BUCKETS],
                args=[claim.player, claim.ticket_id, state, table_id, seat, reason, _QUEUE],
            )


@contextmanager
def _or_unavailable() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise QuickMatchUnavailable(
            "quick match is not available right now: ask again in a moment"
        ) from error


def _ticket(player: str, answer: tuple[int, list[bytes]]) -> Ticket:
    waiting_count, flat = answer
    if not flat:
        raise TicketNotFound(f"{player} has no ticket: hand one in with EnqueueTicket")
    texts = [_text(item) for item in flat]
    fields = dict(zip(texts[::2], texts[1::2], strict=True))
    state = TicketState(fields["state"])
    return Ticket(
        ticket_id=fields["ticket_id"],
        terms=Terms.from_bucket(fields["bucket"]),
        state=state,
        enqueued_ms=int(fields["enqueued_ms"]),
        table_id=fields.get("table_id", ""),
        seat=int(fields.get("seat", 0)),
        reason=fields.get("reason", ""),
        waiting_count=waiting_count if state.is_live else 0,
    )


def _claim(row: tuple[bytes, bytes, bytes | None], until_ms: int) -> Claim:
    ticket_id, player, name = row
    return Claim(_text(ticket_id), _text(player), _text(name or b""), until_ms)


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode()
