"""Leases on groups: they tell the replicas that a group's maker lives.

A maker renews them every second, all at once; so the group of one that died is taken up a few
seconds later. After a turn it renews no more: whoever is next looks afresh which clients are there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from redis.asyncio import Redis

from okey_runtime.clock import Clock
from services.lobby.group import Claim
from services.lobby.ticket_scripts import LEASES, PREFIX, or_unavailable, script

LEASE_MS: Final = 3_000
"""How long a group is left to a replica that is not heard of."""
RENEW_MS: Final = 1_000
"""How often a replica renews the leases of the groups it seats."""
TURN_MS: Final = 20_000
"""How long a replica renews the lease of one group."""
SKEW_MS: Final = 1_000
"""How far the clocks of two replicas may lie apart."""


class Leases:
    """The leases of the groups that one replica seats."""

    def __init__(self, redis: Redis, clock: Clock) -> None:
        self._clock = clock
        self._renew = script(redis, "renew")
        self._held: dict[tuple[str, int], Claim] = {}
        self._ends_ms: dict[tuple[str, int], int] = {}

    @contextmanager
    def held(self, claim: Claim) -> Iterator[None]:
        """Renew the claim's lease until the block ends, for one turn at most."""
        key = _key(claim)
        self._held[key], self._ends_ms[key] = claim, claim.lease_ends_ms
        try:
            yield
        finally:
            del self._held[key], self._ends_ms[key]

    def stands(self, claim: Claim) -> bool:
        """Whether nobody else can have taken the group up yet, whoever's clock counts."""
        return self._clock.now_ms() + SKEW_MS <= self._ends_ms.get(_key(claim), 0)

    async def renew(self) -> None:
        """Renew every lease held here whose turn is not over.

        Raises:
            QuickMatchUnavailable: Redis is away; they end unless the next try comes in time.
        """
        now_ms = self._clock.now_ms()
        due = [key for key, claim in self._held.items() if now_ms < claim.turn_ends_ms]
        if not due:
            return
        ends_ms = now_ms + LEASE_MS
        pairs = [str(part) for key in due for part in key]
        with or_unavailable():
            newest = await self._renew(
                keys=[LEASES], args=[PREFIX, str(now_ms), str(ends_ms), *pairs]
            )
        for key, is_newest in zip(due, newest, strict=True):
            if is_newest and key in self._ends_ms:
                self._ends_ms[key] = max(self._ends_ms[key], ends_ms)


def _key(claim: Claim) -> tuple[str, int]:
    return claim.group.group_id, claim.attempt
