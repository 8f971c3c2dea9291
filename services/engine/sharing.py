"""Keeps this engine among the members, and its tables in step with the board of shards.

Every two seconds, and at once when there is news, the engine renews its lease and reads the board.
Shards that became its own are loaded, those that became another's are let go, and what it has too
much of is handed over, a few tables at a time.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from okey.errors import Exhausted, Unavailable
from okey_runtime.errors import RpcFailure
from okey_runtime.logging import get_logger
from services.engine.background import say_failure
from services.engine.members import Membership, Myself, NameTaken, NoMember
from services.engine.metrics import (
    LEASE_AGE_SECONDS,
    MEMBERS,
    SHARDS,
    SHARDS_GAINED,
    SHARDS_LOST,
    UNOWNED_SHARDS,
)
from services.engine.ownership import Ownership
from services.engine.peers import Bell
from services.engine.right import Right
from services.engine.shards import Board, Place, can_claim, plan
from services.engine.standstill import Standstill
from services.engine.steady_clock import SteadyClock
from services.engine.tables import Tables

_TABLES_AT_ONCE: Final = 16
_TRIES_TO_LEAVE: Final = 3
_FINISH_WITHIN_S: Final = 2.0
_AFTER_LAPSE_MS: Final = 20
_AGAIN_MS: Final = 200
# Where the database was away from all, the first one to be back must not take everything.
_OTHERS_COME_BACK_MS: Final = 3_000

_log = get_logger(__name__)


class Sharing:
    """This engine's share of the tables; ``run`` must be running."""

    def __init__(
        self,
        membership: Membership,
        me: Myself,
        ownership: Ownership,
        tables: Tables,
        clock: SteadyClock,
        standstill: Standstill,
        bell: Bell,
        renew_ms: int,
        is_serving: Callable[[], bool] = lambda: True,
    ) -> None:
        """``is_serving`` says whether callers reach this engine: before, it takes no shards."""
        self._membership = membership
        self._myself = me
        self._ownership = ownership
        self._tables = tables
        self._clock = clock
        self._standstill = standstill
        self._bell = bell
        self._renew_ms = renew_ms
        self._is_taking = True
        self._has_left = False
        self._is_serving = is_serving
        self._claims_from_ms = 0
        self._looking = asyncio.Lock()
        self._asked = self._seen = 0
        self._right = Right(clock, standstill, tables)
        self._moving: set[int] = set()
        self._frozen: dict[int, int] = {}
        """Shards that are ours again since their hand-over failed, each with the moment since which
        its clocks stand; the board knows of none.
        """
        self._balancing: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._leaving: asyncio.Task[None] | None = None
        LEASE_AGE_SECONDS.set_function(ownership.lease_age_s)
        tables.check_owner = self.look

    @property
    def _me(self) -> Myself:
        """What this engine says of itself; its keys are those of the file as it is now."""
        me = self._myself
        return replace(me, events=me.events | self._ownership.seals.numbers)

    # The lease ------------------------------------------------------------------------------------

    async def join(self) -> int:
        """Become a member once the name is free, and begin to load what is ours; how many tables
        there are.

        Raises ``DatabaseAway`` or ``DatabaseBusy``.
        """
        while True:
            try:
                async with self._looking:
                    return await self._join()
            except NameTaken as error:
                _log.error("name_taken", error=str(error))
                await asyncio.sleep(self._renew_ms / 1000)

    async def _join(self) -> int:
        asked_ms = self._clock.monotonic_ms()
        board = await self._membership.join(self._me)
        self._right.begin()
        self._ownership.heard(asked_ms)
        return await self._follow(board)

    async def look(self) -> None:
        """Renew the lease and follow the board, as it is after this was called.

        Raises ``DatabaseAway``, ``DatabaseBusy``, ``NameTaken``.
        """
        self._asked += 1
        asked = self._asked
        async with self._looking:
            if self._seen < asked:
                upto = self._asked
                await self._look()
                self._seen = upto

    async def _look(self) -> None:
        if self._has_left:
            return
        asked_ms = self._clock.monotonic_ms()
        if self._ownership.has_lapsed:
            self._claims_from_ms = asked_ms + _OTHERS_COME_BACK_MS
        try:
            with self._standstill.asking():
                board = await self._membership.renew(
                    self._me,
                    self._right_ms(),
                    self._settled(),
                    is_taking=self._is_taking and self._is_serving(),
                    is_claiming=asked_ms >= self._claims_from_ms,
                )
        except NoMember:
            _log.warning("no_member_any_more", engine=self._me.engine)
            self._ownership.forfeit()
            self._lose(self._ownership.held)
            await self._join()
            return
        self._ownership.heard(asked_ms)
        await self._follow(board)

    def _right_ms(self) -> int:
        """Up to when every clock of ours was right."""
        unloaded = self._tables.unloaded_shards() | self._moving
        still = unloaded | (self._frozen.keys() - self._ownership.held)
        self._frozen = {shard: ms for shard, ms in self._frozen.items() if shard in still}
        return min([self._right.ms(), *self._frozen.values()])

    def _settled(self) -> list[int]:
        """Our shards where every clock goes again that stood still when they came to us."""
        places = self._ownership.board.places
        unloaded = self._tables.unloaded_shards()
        return [
            shard
            for shard in self._ownership.held
            if places[shard].since_ms is not None and shard not in unloaded
        ]

    async def run(self) -> None:
        """Renew, for as long as the engine lives."""
        lapse = asyncio.create_task(self._watch_lease())
        try:
            while True:
                await self.renew()
                if self._standstill.is_on:
                    await self._until_back()
                self._balance()
                self._follow_operators()
                await self._until(self._clock.monotonic_ms() + self._pause_ms())
        finally:
            for task in (lapse, self._balancing, self._reading, self._leaving):
                if task is not None:
                    task.cancel()

    async def renew(self) -> bool:
        """Look; whether the database has answered."""
        try:
            await self.look()
        except NameTaken as error:
            _log.error("name_taken", error=str(error))
            return True  # until the other one's lease ends we are nobody
        except Unavailable:
            return False  # the engine stands still, and has said so
        except Exhausted as error:
            _log.warning("renewal_failed", error=str(error))
            return False
        return True

    def _pause_ms(self) -> int:
        """Until the next look: sooner where somebody's lease ends, or shards are to be had."""
        board = self._ownership.board
        if not self._is_serving() or can_claim(board, self._me.engine):
            return min(_AGAIN_MS, self._renew_ms)
        lapse_ms = board.next_lapse_ms(self._me.engine)
        soon_ms = self._renew_ms if lapse_ms is None else lapse_ms + _AFTER_LAPSE_MS
        return max(_AFTER_LAPSE_MS, min(self._renew_ms, soon_ms))

    async def _watch_lease(self) -> None:
        """What is in memory may be old once the lease has ended: nobody is shown it any more."""
        while True:
            await self._clock.sleep_until_ms(self._ownership.lapses_ms)
            if self._ownership.has_lapsed:
                self._standstill.begin(self._clock.now_ms(), "LEASE_LAPSED")
                self._tables.end_streams()
                await self._ownership.renewed()

    async def _until_back(self) -> None:
        if self._standstill.is_relapse:
            await asyncio.sleep(next(self._standstill.waits))
        for wait_s in self._standstill.waits:
            if await self.renew() and self._standstill.can_end():
                break
            await asyncio.sleep(wait_s)
        self._right.go_on(self._tables.go_on())

    async def _until(self, monotonic_ms: int) -> None:
        """Sleep, but not through the beginning of a standstill."""
        sleep = asyncio.ensure_future(self._clock.sleep_until_ms(monotonic_ms))
        began = asyncio.ensure_future(self._standstill.began.wait())
        try:
            await asyncio.wait((sleep, began), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            began.cancel()

    # The board ------------------------------------------------------------------------------------

    async def _follow(self, board: Board) -> int:
        """Let go what is another's, begin to load what became ours; how many tables that is."""
        before = self._ownership.board
        self._ownership.follow(board)
        self._bell.keep({member.address for member in board.members.values()})
        ours = board.shards_of(self._me.engine) - self._moving
        self._lose(self._ownership.held - ours)
        self._frozen = {s: ms for s, ms in self._frozen.items() if s in ours or s in self._moving}
        gained = ours - self._ownership.held
        count = 0
        if gained:
            await self._tables.look(ours)
            now_ms = self._clock.now_ms()
            since = {s: board.places[s].since_ms for s in gained}
            count = await self._tables.adopt(
                {s: self._frozen.get(s, now_ms) if ms is None else ms for s, ms in since.items()}
            )
            self._count_gained(gained, before)
        MEMBERS.set(len(board.living()))
        UNOWNED_SHARDS.set(sum(board.owner_of(s) is None for s in range(len(board.places))))
        SHARDS.set(len(self._ownership.held))
        return count

    def _lose(self, shards: Collection[int]) -> None:
        lost = frozenset(shards)
        if lost:
            self._tables.give_up(lost, self._ownership.address_of)
            SHARDS_LOST.labels("LAPSED").inc(len(lost))
            _log.warning("shards_lost", count=len(lost))

    def _count_gained(self, gained: Collection[int], before: Board) -> None:
        handed = sum(before.owner_of(shard) is not None for shard in gained if before.places)
        SHARDS_GAINED.labels("HANDED_OVER").inc(handed)
        SHARDS_GAINED.labels("CLAIMED").inc(len(gained) - handed)
        _log.info("shards_gained", count=len(gained), handed_over=handed)

    # Handing over ---------------------------------------------------------------------------------

    async def hand_over(self, shards: Collection[int], to: str, *, is_pinned: bool = False) -> bool:
        """Give shards of ours to an engine that lives and takes shards; whether it has them now.
        Where that is this one, what is pinned is so from now on.

        What is under way at their tables is answered first, and who asks meanwhile waits; once the
        other engine knows, streams end with its address. Raises ``DatabaseAway``,
        ``DatabaseBusy``: then nobody knows, and the next look tells.
        """
        given, right_ms = frozenset(shards), self._right.before_giving()
        if not given <= self._ownership.held:
            return False
        if to == self._me.engine:
            return not is_pinned or await self._membership.pin(self._me, given)
        self._moving |= given
        self._frozen |= dict.fromkeys(given, self._right_ms() if right_ms is None else right_ms)
        self._ownership.begin_move(given)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_FINISH_WITHIN_S):
                    await self._tables.finish(given)
            is_given = await self._membership.hand_over(
                self._me, given, to, right_ms or self._right.ms(), is_pinned=is_pinned
            )
            if is_given:
                self._note(given, Place(to, None, is_pinned))
                self._frozen = {s: ms for s, ms in self._frozen.items() if s not in given}
                await self._tell(to)
                SHARDS_LOST.labels("HANDED_OVER").inc(len(given))
            return is_given
        finally:
            self._tables.give_up(given, self._ownership.address_of)
            self._moving -= given
            self._ownership.end_move(given)
            SHARDS.set(len(self._ownership.held))

    def _note(self, shards: Collection[int], place: Place) -> None:
        board = self._ownership.board
        places = tuple(place if s in shards else old for s, old in enumerate(board.places))
        self._ownership.follow(replace(board, places=places))

    async def _tell(self, engine: str) -> None:
        member = self._ownership.board.members[engine]
        try:
            await self._bell.look(member.address)
        except RpcFailure as error:
            _log.info("peer_does_not_look", engine=engine, error=str(error))

    def _follow_operators(self) -> None:
        """See in the background what operators have decided at other engines: no renewal waits."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read_operators())

    async def look_at_operators(self) -> None:
        """Follow what they decided. Raises ``DatabaseAway`` or ``DatabaseBusy``."""
        await self._tables.look(frozenset(self._ownership.held))

    async def _read_operators(self) -> None:
        try:
            await self.look_at_operators()
        except (Unavailable, Exhausted) as error:
            _log.debug("operators_not_read", error=str(error))

    def _balance(self) -> None:
        """Hand over in the background what others should have."""
        is_busy = self._balancing is not None and not self._balancing.done()
        can_give = self._is_taking and not self._standstill.is_on
        if not is_busy and can_give and self._surplus():
            self._balancing = asyncio.create_task(self._hand_surplus_over())

    def _surplus(self) -> Mapping[int, str]:
        """Our shards that others should have, and who."""
        board = self._ownership.board
        planned = plan(board) if board.places else ()
        return {
            shard: planned[shard]
            for shard in sorted(self._ownership.held)
            if planned[shard] not in ("", self._me.engine)
        }

    def _next_part(self) -> tuple[str, Collection[int]]:
        """Some of the surplus for one engine: few tables, however many shards that is."""
        surplus = self._surplus()
        to = next(iter(surplus.values()), "")
        tables = self._tables.count_by_shard()
        part: list[int] = []
        count = 0
        for shard in (each for each, owner in surplus.items() if owner == to):
            count += tables[shard]
            if part and count > _TABLES_AT_ONCE:
                break
            part.append(shard)
        return to, part

    async def _hand_surplus_over(self) -> None:
        """Part after part, until there is none."""
        while not self._standstill.is_on:
            to, part = self._next_part()
            if not part:
                return
            given = False
            with suppress(Unavailable, Exhausted):
                given = await self.hand_over(part, to)
            if not given:
                _log.warning("hand_over_failed", engine=to, shards=len(part))
                with suppress(Unavailable, Exhausted):
                    await self.look()
                return

    def leave(self) -> "asyncio.Task[None]":
        """Begin to hand every shard over and to be no member any more; bounded by who waits for it.

        Without a database that answers, or anybody to take them, others find the shards free.
        """
        if self._leaving is None:
            self._leaving = asyncio.create_task(self._leave())
            self._leaving.add_done_callback(say_failure)
        return self._leaving

    async def _leave(self) -> None:
        self._is_taking = False
        if self._balancing is not None:
            await asyncio.wait([self._balancing])
        with suppress(Unavailable, Exhausted):
            await self.look()
            for _ in range(_TRIES_TO_LEAVE):
                await self._hand_surplus_over()
        self._tables.stop()
        with suppress(Unavailable, Exhausted):
            left, right_ms = frozenset(self._ownership.held), self._right.before_giving()
            await self._tables.finish(left)
            self._has_left = True
            await self._membership.leave(self._me, right_ms or self._right_ms())
            if left:
                others = [each.engine for each in self._ownership.board.living()]
                await asyncio.gather(*(self._tell(e) for e in others if e != self._me.engine))
