"""How fast one player may make, join and leave tables.

Each kind of call has so many at once, and one more after a while; a request that is sent again is
counted once. Leaving is free at any time (W2): its limit is one that nobody reaches who only leaves
what it has joined. One key a kind and player, ``okey:{<player>}:calls:<kind>``, a hash of
``whole_ms``, when all calls are free again, and ``last``, the request counted last; it goes away
when they are. Without Redis nobody is counted, so that tables can still be made, joined and left.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from okey.errors import Exhausted
from okey_runtime.clock import Clock
from services.lobby.metrics import LIMITED, UNLIMITED

_SCRIPT: Final = Path(__file__).with_name("scripts") / "tables" / "count.lua"
_AFTER_OUTAGE_MS: Final = 1_000


class _TooOften(Exhausted):
    """The player calls too fast; ``retry_after_ms`` says when the call may come again."""

    def __init__(self, what: str, retry_after_ms: int) -> None:
        super().__init__(f"too many tables {what} in a short time: again in {retry_after_ms} ms")
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


class Kind(StrEnum):
    """What is counted; the values stand in keys."""

    MAKING = "making"
    JOINING = "joining"
    LEAVING = "leaving"


@dataclass(frozen=True, slots=True)
class Limit:
    """So many calls at once, and one more each ``every_ms``."""

    at_once: int
    every_ms: int


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
        }
        self._uncounted_until_ms = 0

    async def count(self, kind: Kind, player: str, request_id: str) -> None:
        """Count a call.

        Raises:
            TablesTooOften, SeatsTooOften: it comes too early.
        """
        if self._clock.monotonic_ms() < self._uncounted_until_ms:
            UNLIMITED.inc()
            return
        limit = self._limits[kind]
        try:
            early_ms = await self._count(
                keys=[f"okey:{{{player}}}:calls:{kind}"],
                args=[self._clock.now_ms(), limit.at_once, limit.every_ms, request_id],
            )
        except RedisError:
            # Not every call shall wait for a server that does not answer.
            self._uncounted_until_ms = self._clock.monotonic_ms() + _AFTER_OUTAGE_MS
            UNLIMITED.inc()
            return
        if early_ms:
            error = _refusal(kind, early_ms)
            LIMITED.labels(error.reason).inc()
            raise error


def _refusal(kind: Kind, early_ms: int) -> _TooOften:
    match kind:
        case Kind.MAKING:
            return TablesTooOften("made", early_ms)
        case Kind.JOINING:
            return SeatsTooOften("joined", early_ms)
        case Kind.LEAVING:
            return SeatsTooOften("left", early_ms)
