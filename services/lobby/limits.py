"""How fast one player may make, join and leave tables, and hand in tickets.

Each kind of call has so many at once, and one more after a while. A request that is sent again in
full is the same call, as often as a patient client sends it while nobody answers; beyond that, and
whenever anything in it is another, it counts. A ticket names no request, so each counts. Leaving is
free at any time (W2): its limit is one that nobody reaches who only leaves what it has joined.

One key a kind and player, ``okey:{<player>}:calls:<kind>``, a hash of ``whole_ms``, when all calls
are free again, ``last``, the digest of the request counted last, and ``again``, how often that has
come once more; it goes away when they are. Without Redis nobody is counted, so that tables can
still be made, joined and left.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from google.protobuf.message import Message
from redis.asyncio import Redis
from redis.exceptions import RedisError

from okey.errors import Exhausted
from okey_runtime.clock import Clock
from services.lobby.metrics import LIMITED, UNLIMITED

_SCRIPT: Final = Path(__file__).with_name("scripts") / "tables" / "count.lua"
REPETITIONS: Final = 15
"""How often a request may come again for nothing: ``okey_client`` tries 16 times in all."""


class _TooOften(Exhausted):
    """The player calls too fast; ``retry_after_ms`` says when the call may come again."""

    def __init__(self, what: str, retry_after_ms: int) -> None:
        super().__init__(f"too many {what} in a short time: again in {retry_after_ms} ms")
        self._retry_after_ms = retry_after_ms

    @property
    def retry_after_ms(self) -> int:
        """When the same call is let through."""
        return self._retry_after_ms


class TablesTooOften(_TooOften):
    """The player makes tables too fast."""

    reason = "TABLES_TOO_OFTEN"


class SeatsTooOften(_TooOften):
    """The player joins or leaves tables too fast."""

    reason = "SEATS_TOO_OFTEN"


class TicketsTooOften(_TooOften):
    """The player hands tickets in faster than anybody needs to."""

    reason = "TICKETS_TOO_OFTEN"


class Kind(StrEnum):
    """What is counted; the values stand in keys."""

    MAKING = "making"
    JOINING = "joining"
    LEAVING = "leaving"
    ASKING = "asking"


@dataclass(frozen=True, slots=True)
class Limit:
    """So many calls at once, and one more each ``every_ms``; the same request comes again for
    nothing ``repetitions`` times.
    """

    at_once: int
    every_ms: int
    repetitions: int = REPETITIONS


ASKING: Final = Limit(at_once=10, every_ms=1_000, repetitions=0)
"""How fast a player may hand in tickets: two that are alike are two."""


class Limits:
    """Counts players' calls; ``clock`` tells the time that is stored, alike on all replicas to a
    second or so.
    """

    def __init__(self, redis: Redis, clock: Clock, making: Limit, joining: Limit) -> None:
        self._clock = clock
        self._count = redis.register_script(_SCRIPT.read_text("utf-8"))
        self._limits = {
            Kind.MAKING: making,
            Kind.JOINING: joining,
            Kind.LEAVING: Limit(
                2 * (making.at_once + joining.at_once),
                max(1, min(making.every_ms, joining.every_ms) // 2),
            ),
            Kind.ASKING: ASKING,
        }

    async def count(self, kind: Kind, player: str, request: Message) -> None:
        """Count a call.

        Raises:
            TablesTooOften, SeatsTooOften, TicketsTooOften: it comes too early.
        """
        limit = self._limits[kind]
        try:
            early_ms = await self._count(
                keys=[f"okey:{{{player}}}:calls:{kind}"],
                args=[
                    self._clock.now_ms(),
                    limit.at_once,
                    limit.every_ms,
                    _digest(request),
                    limit.repetitions,
                ],
            )
        except RedisError:
            UNLIMITED.inc()
            return
        if early_ms:
            error = _refusal(kind, early_ms)
            LIMITED.labels(error.reason).inc()
            raise error


def _refusal(kind: Kind, early_ms: int) -> _TooOften:
    match kind:
        case Kind.MAKING:
            return TablesTooOften("tables made", early_ms)
        case Kind.JOINING:
            return SeatsTooOften("tables joined", early_ms)
        case Kind.LEAVING:
            return SeatsTooOften("tables left", early_ms)
        case Kind.ASKING:
            return TicketsTooOften(
                "tickets handed in (GetTicket and WatchTicket show the one that waits)", early_ms
            )


def _digest(request: Message) -> str:
    """Of all that a request says, so that no part of it can be another at the same price."""
    return hashlib.sha256(request.SerializeToString(deterministic=True)).hexdigest()
