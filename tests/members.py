"""The membership of engines in memory, for tests whose time is virtual; the contract suite holds
for it as for the databases'.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

from services.engine.members import Myself, NameTaken, NoMember, takes_at_once
from services.engine.shards import SHARD_COUNT, Board, Member, Place, plan


class MemoryMembers:
    """One board for as many engines as share it; ``clock`` is the database's."""

    def __init__(self, clock: Callable[[], int], lease_ms: int = 6_000) -> None:
        self._clock = clock
        self._lease_ms = lease_ms
        self.forget()

    def forget(self) -> None:
        """As if no engine had ever lived."""
        self._members: dict[str, Member] = {}
        self._places = [Place("", 0) for _ in range(SHARD_COUNT)]

    def kill(self, engine: str) -> None:
        """Its lease has ended."""
        member = self._members[engine]
        self._members[engine] = replace(member, leased_ms=member.leased_ms - self._lease_ms)

    def pin_all(self) -> None:
        """As if an operator had moved every shard to where it is."""
        self._places = [replace(place, is_pinned=True) for place in self._places]

    def teach(self, engine: str, events: frozenset[int]) -> None:
        """It can read these kinds of events."""
        self._members[engine] = replace(self._members[engine], events=events)

    async def now_ms(self) -> int:
        return self._clock()

    async def board(self) -> Board:
        return self._board()

    async def join(self, me: Myself) -> Board:
        board = self._board()
        known = board.members.get(me.engine)
        if known is not None and board.is_alive(me.engine) and known.address != me.address:
            raise NameTaken(f"{me.engine} lives at {known.address}")
        if known is not None:
            for shard in board.shards_of(me.engine):
                self._stand_still(shard, known.renewed_ms)
        is_taking = takes_at_once(board, me.engine)
        self._put(me, board.now_ms, is_taking=is_taking)
        return self._claimed(me) if is_taking else self._board()

    async def renew(
        self,
        me: Myself,
        right_ms: int,
        settled: Collection[int] = (),
        *,
        is_taking: bool = True,
        is_claiming: bool = True,
    ) -> Board:
        known = self._members.get(me.engine)
        if known is None or known.incarnation != me.incarnation:
            raise NoMember(f"{me.engine} is no member")
        self._put(me, right_ms, is_taking=is_taking)
        for shard in settled:
            if self._places[shard].owner == me.engine:
                self._places[shard] = replace(self._places[shard], since_ms=None)
        if not (is_taking and is_claiming) or self._clock() - known.leased_ms >= self._lease_ms:
            return self._board()
        return self._claimed(me)

    async def hand_over(
        self, me: Myself, given: Collection[int], to: str, now_ms: int, *, is_pinned: bool = False
    ) -> bool:
        board = self._board()
        known = self._members.get(me.engine)
        is_ours = known is not None and known.incarnation == me.incarnation
        if not is_ours or not board.is_alive(to) or not board.members[to].is_taking:
            return False
        ours = set(given) & board.shards_of(me.engine)
        for shard in ours:
            self._stand_still(shard, now_ms)
            self._places[shard] = replace(self._places[shard], owner=to, is_pinned=is_pinned)
        return ours == set(given)

    async def pin(self, me: Myself, shards: Collection[int]) -> bool:
        known = self._members.get(me.engine)
        if known is None or known.incarnation != me.incarnation:
            return False
        ours = set(shards) & self._board().shards_of(me.engine)
        for shard in ours:
            self._places[shard] = replace(self._places[shard], is_pinned=True)
        return ours == set(shards)

    async def leave(self, me: Myself, now_ms: int) -> None:
        known = self._members.get(me.engine)
        if known is None or known.incarnation != me.incarnation:
            return
        for shard in self._board().shards_of(me.engine):
            self._stand_still(shard, now_ms)
            self._places[shard] = replace(self._places[shard], owner="")
        del self._members[me.engine]

    def _board(self) -> Board:
        return Board(self._clock(), self._lease_ms, dict(self._members), tuple(self._places))

    def _claimed(self, me: Myself) -> Board:
        board = self._board()
        for shard, planned in enumerate(plan(board)):
            owner = board.places[shard].owner
            if planned == me.engine and not board.is_alive(owner):
                known = board.members.get(owner)
                self._stand_still(shard, known.renewed_ms if known else board.now_ms)
                self._places[shard] = Place(me.engine, self._places[shard].since_ms)
        return self._board()

    def _stand_still(self, shard: int, since_ms: int) -> None:
        if self._places[shard].since_ms is None:
            self._places[shard] = replace(self._places[shard], since_ms=since_ms)

    def _put(self, me: Myself, right_ms: int, *, is_taking: bool) -> None:
        self._members[me.engine] = Member(
            me.engine, me.address, me.incarnation, right_ms, self._clock(), is_taking, me.events
        )
