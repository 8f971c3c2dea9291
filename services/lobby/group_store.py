"""The matchmaker's side of the tickets in Redis: who waits, and groups that are being seated.

A group is claimed by one atomic script that takes all its tickets or none. Its lease, see
``leases``, says who seats it. Should that replica die, another one takes the group up with a higher
attempt, and only the newest attempt may end it; so a group has one outcome, whoever still believes
to hold it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from redis.asyncio import Redis

from okey_runtime.clock import Clock
from services.lobby.engine_calls import CALL_MS
from services.lobby.group import (
    Claim,
    Group,
    Verdict,
    all_wait,
    verdict_from_json,
    verdict_to_json,
)
from services.lobby.leases import LEASE_MS, SKEW_MS, TURN_MS, Leases
from services.lobby.terms import Terms
from services.lobby.ticket_scripts import (
    BUCKETS,
    FRESH_MS,
    LEASES,
    PREFIX,
    SILENCE_LIMIT_MS,
    group_key,
    or_unavailable,
    queue_key,
    script,
    text,
)
from services.lobby.waiting import Waiting

PASS_LEASE_MS: Final = 5_000
"""How long a replica that died over a bucket keeps the others away from it."""
MOST_PLANNED: Final = 10_000
"""How many tickets of a bucket one pass looks at, the longest waiting ones."""
_TYPICAL_MS: Final = 1_800_000


@dataclass(frozen=True, slots=True)
class Queue:
    """A bucket and how many wait in it."""

    terms: Terms
    length: int


class GroupStore:
    """What one replica, ``passer``, does with the queues; every method raises
    ``QuickMatchUnavailable`` where Redis is away.
    """

    def __init__(self, redis: Redis, clock: Clock, passer: str) -> None:
        self.leases = Leases(redis, clock)
        self._redis = redis
        self._clock = clock
        self._passer = passer
        self._buckets, self._waiting, self._pass_over, self._claim, self._reclaim = (
            script(redis, name) for name in ("buckets", "waiting", "pass_over", "claim", "reclaim")
        )
        self._silent, self._note, self._settle = (
            script(redis, name) for name in ("silent", "note", "settle")
        )

    async def queues(self) -> list[Queue]:
        """Every bucket that has a queue, in a fixed order."""
        with or_unavailable():
            rows = await self._buckets(keys=[BUCKETS], args=self._args())
        found = sorted((text(bucket), length) for bucket, length in rows)
        return [Queue(Terms.from_bucket(bucket), length) for bucket, length in found]

    async def begin_pass(self, terms: Terms) -> list[Waiting] | None:
        """Who waits for these terms and can be matched, in order of arrival; None while another
        replica passes over them.
        """
        limits = (PASS_LEASE_MS, SILENCE_LIMIT_MS, FRESH_MS, MOST_PLANNED)
        with or_unavailable():
            rows = await self._waiting(
                keys=[queue_key(terms.bucket)],
                args=self._args(terms.bucket, self._passer, *map(str, limits)),
            )
        return None if rows is None else [_waiting(row) for row in rows]

    async def end_pass(self, terms: Terms) -> None:
        """Let others pass over these terms."""
        with or_unavailable():
            await self._pass_over(
                keys=[queue_key(terms.bucket)], args=self._args(terms.bucket, self._passer)
            )

    async def claim(self, groups: Sequence[Group]) -> list[Claim]:
        """Take each group's tickets off the queue; a group of which one ticket waits no longer is
        left out.
        """
        now_ms = self._clock.now_ms()
        ends_ms = now_ms + LEASE_MS
        with or_unavailable():
            async with self._redis.pipeline(transaction=False) as pipe:
                for group in groups:
                    pairs = [part for m in group.members for part in (m.player, m.ticket_id)]
                    await self._claim(
                        keys=[group_key(group.group_id)],
                        args=self._args(
                            group.group_id, group.to_json(), str(ends_ms), str(FRESH_MS), *pairs
                        ),
                        client=pipe,
                    )
                answers = await pipe.execute()
        return [
            Claim(group, 1, ends_ms, now_ms + TURN_MS)
            for group, is_had in zip(groups, answers, strict=True)
            if is_had
        ]

    async def reclaim(self) -> Claim | None:
        """Take over a group whose lease is over, if there is one."""
        now_ms = self._clock.now_ms()
        ends_ms = now_ms + LEASE_MS
        with or_unavailable():
            found = await self._reclaim(keys=[LEASES], args=self._args(str(ends_ms)))
            if found is None:
                return None
            group_id, attempt, stored, table_id, verdict, lapsed_ms = found
            group = Group.from_json(text(group_id), stored)
            if verdict:
                group = replace(group, table_id=text(table_id))
            players = [member.player for member in group.members]
            gone = await self._silent(
                keys=[group_key(group.group_id)], args=self._args(str(SILENCE_LIMIT_MS), *players)
            )
        decided = verdict_from_json(group, verdict) if verdict else ()
        return Claim(
            group,
            attempt,
            ends_ms,
            now_ms + TURN_MS,
            int(lapsed_ms) + CALL_MS + SKEW_MS,
            frozenset(map(text, gone)),
            decided,
        )

    async def note_tables(self, claim: Claim, seats: Sequence[tuple[str, str, int]]) -> bool:
        """Let the players see the table and seat where they sit while it is being decided whether
        they stay; False where the claim is lost.
        """
        return await self._noted(claim, "", "", [str(part) for row in seats for part in row])

    async def note_verdict(self, claim: Claim, table_id: str, verdict: Verdict) -> bool:
        """Note what becomes of a group that cannot be seated, before its seats at that table are
        taken back; False where the claim is lost.
        """
        return await self._noted(claim, verdict_to_json(verdict), table_id, [])

    async def settle(self, claim: Claim, verdict: Verdict) -> list[int] | None:
        """Give every ticket its outcome; the waits of those seated, in milliseconds, or None where
        the claim is lost, or where this was done before.
        """
        parts: list[str] = []
        for outcome in verdict:
            parts += [outcome.member.player, outcome.member.ticket_id, outcome.state.value]
            parts += [outcome.table_id, str(outcome.seat), outcome.reason]
        with or_unavailable():
            waits: list[int] | None = await self._settle(
                keys=[group_key(claim.group.group_id)],
                args=self._args(claim.group.group_id, str(claim.attempt), str(_TYPICAL_MS), *parts),
            )
        return waits

    async def put_back(self, claim: Claim) -> None:
        """Every ticket waits again, in its old place."""
        await self.settle(claim, all_wait(claim.group))

    async def _noted(self, claim: Claim, verdict: str, table_id: str, seats: list[str]) -> bool:
        group_id = claim.group.group_id
        with or_unavailable():
            noted = await self._note(
                keys=[group_key(group_id)],
                args=self._args(group_id, str(claim.attempt), verdict, table_id, *seats),
            )
        return bool(noted)

    def _args(self, *args: str) -> list[str]:
        return [PREFIX, str(self._clock.now_ms()), *args]


def _waiting(row: list[bytes]) -> Waiting:
    player, ticket_id, name, order, rating, since_ms, partner, fill_ms, avoided = map(text, row)
    return Waiting(
        player,
        ticket_id,
        name,
        int(order),
        int(rating),
        int(since_ms),
        partner,
        int(fill_ms),
        avoided,
    )
