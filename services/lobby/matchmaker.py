"""Quick match: brings waiting tickets that fit to one table.

Any number of replicas run this at once. A pass over a bucket is one replica's by a lease, for speed
alone: a group is claimed by one atomic script, so no ticket gets into two. How a group is seated,
and what happens where a replica dies over it, is told in ``seating``.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from okey_runtime.background import repeat
from okey_runtime.clock import Clock
from okey_runtime.logging import get_logger
from services.lobby.filling import Filling
from services.lobby.group import Claim, Group, group_of, new_group_id
from services.lobby.group_store import GroupStore
from services.lobby.leases import RENEW_MS
from services.lobby.metrics import PASS_SECONDS
from services.lobby.planning import AT_TABLE_MS, plan, plan_with_bots
from services.lobby.seating import Seating
from services.lobby.tallying import show_queues, show_settled
from services.lobby.teams import seats_for
from services.lobby.terms import Terms
from services.lobby.ticket import QuickMatchUnavailable
from services.lobby.waiting import Unit, Waiting, units_of
from services.lobby.windows import RatingWindow

PASS_MS: Final = 250
"""How often a replica passes over the queues."""
GROUPS_AT_ONCE: Final = 64
"""How many groups a replica seats at the same time."""

_CLAIMED_AT_ONCE: Final = 16

_log = get_logger(__name__)


class Matchmaker:
    """One replica's share of quick match.

    ``may_use_bots`` says whether the house pays for bots now (M7, W5); ``new_id`` names groups.
    """

    def __init__(
        self,
        groups: GroupStore,
        seating: Seating,
        filling: Filling,
        may_use_bots: Callable[[], Awaitable[bool]],
        window: RatingWindow,
        clock: Clock,
        new_id: Callable[[], str] = new_group_id,
    ) -> None:
        self._groups = groups
        self._seating = seating
        self._filling = filling
        self._may_use_bots = may_use_bots
        self._window = window
        self._clock = clock
        self._new_id = new_id
        self._slots = asyncio.Semaphore(GROUPS_AT_ONCE)
        self._seated: set[asyncio.Task[None]] = set()
        self._is_draining = False

    async def run(self) -> None:
        """Pass over the queues for as long as the service lives."""
        await repeat("quick-match", self.run_once, PASS_MS, self._clock)

    async def keep(self) -> None:
        """Renew the leases of groups in hand for as long as the service lives."""
        await repeat("group-leases", self._groups.leases.renew, RENEW_MS, self._clock)

    async def run_once(self) -> None:
        """One pass: lost groups are taken up, whoever fits is claimed; seating goes on after it.

        Raises:
            QuickMatchUnavailable: Redis is away.
        """
        if self._is_draining:
            return
        await self._take_up_lost_groups()
        queues = await self._groups.queues()
        show_queues(queues)
        for queue in queues:
            with PASS_SECONDS.time():
                await self._pass_over(queue.terms)

    async def drain(self) -> None:
        """Claim nobody new, and return once every group in hand is seated or left to others."""
        self._is_draining = True
        await self.seated()

    async def seated(self) -> None:
        """Return once no group is being seated here."""
        while self._seated:
            await asyncio.wait(self._seated)

    async def _take_up_lost_groups(self) -> None:
        while not self._slots.locked():
            await self._slots.acquire()
            claim = None
            try:
                claim = await self._groups.reclaim()
            finally:
                if claim is None:
                    self._slots.release()
            if claim is None:
                return
            self._seat(claim)

    async def _pass_over(self, terms: Terms) -> None:
        vain = 0
        while True:
            waiting = await self._groups.begin_pass(terms)
            if waiting is None:
                return  # another replica is at it
            groups = await self._plan(terms, waiting) if waiting and not self._rests() else []
            if not groups or vain > len(waiting):
                break
            claimed = await self._claim(groups)
            # A ticket that was taken back meanwhile spoils a group of the plan. Each try in vain
            # means one ticket less, so the others need not wait for the next pass.
            vain = 0 if claimed else vain + 1
        await self._groups.end_pass(terms)

    def _rests(self) -> bool:
        is_resting = self._clock.monotonic_ms() < self._seating.rests_until_ms
        return is_resting or self._is_draining

    async def _plan(self, terms: Terms, waiting: Sequence[Waiting]) -> list[Group]:
        groups, left = await self._filling.groups_for(terms, units_of(waiting))
        now_ms = self._clock.now_ms()
        matches, left = plan(left, terms.seat_count, self._window, now_ms)
        groups += [self._group(terms, match) for match in matches]
        with_bots = plan_with_bots(left, terms.seat_count, self._window, now_ms)
        if with_bots and await self._may_use_bots():
            groups += [self._group(terms, match, AT_TABLE_MS) for match in with_bots]
        return groups

    def _group(self, terms: Terms, match: Sequence[Unit], house_fill_after_ms: int = 0) -> Group:
        seats = seats_for(match, terms.mode)
        return group_of(self._new_id(), terms, seats, house_fill_after_ms=house_fill_after_ms)

    async def _claim(self, groups: Sequence[Group]) -> int:
        """Claim these and begin to seat them, as many as could be had."""
        claimed = 0
        for first in range(0, len(groups), _CLAIMED_AT_ONCE):
            if self._rests():
                break
            batch = groups[first : first + _CLAIMED_AT_ONCE]
            for _ in batch:
                await self._slots.acquire()
            claims: list[Claim] = []
            try:
                claims = await self._groups.claim(batch)
            finally:
                for _ in range(len(batch) - len(claims)):
                    self._slots.release()
            for claim in claims:
                self._seat(claim)
            claimed += len(claims)
        return claimed

    def _seat(self, claim: Claim) -> None:
        task = asyncio.create_task(self._seat_and_tell(claim))
        self._seated.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._seated.discard(task)
        self._slots.release()

    async def _seat_and_tell(self, claim: Claim) -> None:
        try:
            settled = await self._seating.seat(claim)
        except QuickMatchUnavailable as away:
            # The group is taken up when its lease is over.
            _log.warning("seating_interrupted", group_id=claim.group.group_id, error=str(away))
            return
        if settled is not None:
            show_settled(claim.group, settled)
