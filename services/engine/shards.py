"""A table's id says its shard, and the board says which engine has which: pure functions.

Ids are digests, so their first characters spread over the shards; a shard is one range of ids, in
the order in which both databases sort them.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

SHARD_COUNT: Final = 256
"""How many shards there are; fixed for good, since every table's id says its shard."""

# Base 32 in the order of bytes: five bits a character, and the first eight bits are the shard.
_LETTERS: Final = "234567abcdefghijklmnopqrstuvwxyz"
_PREFIXES: Final = [first + second for first in _LETTERS for second in _LETTERS[::4]]
# Where the ids of each shard begin; nothing sorts before the first one's.
_STARTS: Final = ("", *_PREFIXES[1:])
_AFTER_EVERY_ID: Final = "~"


@dataclass(frozen=True, slots=True)
class Member:
    """An engine, as it last said of itself.

    ``renewed_ms`` is when everything was last right at its tables, ``leased_ms`` when the database
    last heard of it; ``is_taking`` says that it takes shards, which it does not before it serves,
    nor when it leaves; ``events`` are the kinds of events that it can read.
    """

    engine: str
    address: str
    incarnation: str
    renewed_ms: int
    leased_ms: int
    is_taking: bool
    events: frozenset[int]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a shard is: its owner, "" for nobody.

    ``since_ms`` is the moment since which clocks of its tables may stand still, None where all go.
    One that is pinned was moved by an operator and is not balanced away.
    """

    owner: str
    since_ms: int | None = None
    is_pinned: bool = False


@dataclass(frozen=True, slots=True)
class Board:
    """What the database said at one moment, ``now_ms`` by its own clock."""

    now_ms: int
    lease_ms: int
    members: Mapping[str, Member]
    places: tuple[Place, ...]

    def is_alive(self, engine: str) -> bool:
        """Whether the engine is a member whose lease has not ended."""
        member = self.members.get(engine)
        # A lease of the future was written before the database's clock was set back.
        return member is not None and abs(self.now_ms - member.leased_ms) < self.lease_ms

    def living(self) -> list[Member]:
        """The members whose leases have not ended, by name."""
        return [member for name, member in sorted(self.members.items()) if self.is_alive(name)]

    def owner_of(self, shard: int) -> Member | None:
        """The living engine that has the shard."""
        owner = self.places[shard].owner
        return self.members[owner] if self.is_alive(owner) else None

    def shards_of(self, engine: str) -> frozenset[int]:
        """The shards that stand under this name, whether it lives or not."""
        return frozenset(s for s, place in enumerate(self.places) if place.owner == engine)

    def next_lapse_ms(self, but: str) -> int | None:
        """How long until the first of the others' leases ends unless it is renewed."""
        left = [
            member.leased_ms + self.lease_ms - self.now_ms
            for member in self.living()
            if member.engine != but
        ]
        return min(left, default=None)

    def readable(self) -> frozenset[int] | None:
        """The kinds of events that every living member can read; None where there is no member."""
        known = [member.events for member in self.living()]
        return frozenset.intersection(*known) if known else None


def shard_of(table_id: str) -> int:
    """The table's shard: the first eight bits of its id."""
    return bisect_right(_STARTS, table_id) - 1


def id_ranges(shards: Iterable[int]) -> list[tuple[str, str]]:
    """Where the ids of these shards begin and before what they end, neighbours in one."""
    ranges: list[tuple[str, str]] = []
    for shard in sorted(shards):
        start, end = _STARTS[shard], (*_STARTS, _AFTER_EVERY_ID)[shard + 1]
        if ranges and ranges[-1][1] == start:
            start = ranges.pop()[0]
        ranges.append((start, end))
    return ranges


def plan(board: Board) -> tuple[str, ...]:
    """Who should have each shard: everybody a fair share, and as few moves as that takes.

    The same for every engine that sees the same board. Pinned shards stay; where nobody can take
    any, all stay where they are.
    """
    takers = [member.engine for member in board.living() if member.is_taking]
    if not takers:
        return tuple(place.owner for place in board.places)
    room = _fair_shares(board, takers)
    planned = [""] * len(board.places)
    by_pin = sorted(range(len(board.places)), key=lambda s: not board.places[s].is_pinned)
    for shard in by_pin:
        place = board.places[shard]
        if place.owner in room and (place.is_pinned or room[place.owner] > 0):
            planned[shard] = place.owner
            room[place.owner] -= 1
    for shard, owner in enumerate(planned):
        if not owner:
            taker = max(takers, key=lambda name: room[name])
            planned[shard] = taker
            room[taker] -= 1
    return tuple(planned)


def can_claim(board: Board, engine: str) -> bool:
    """Whether shards that nobody has are to be the engine's."""
    return any(
        planned == engine and board.owner_of(shard) is None
        for shard, planned in enumerate(plan(board))
    )


def _fair_shares(board: Board, takers: list[str]) -> dict[str, int]:
    """How many shards each shall have; the odd ones stay with those that have most already."""
    has = {name: len(board.shards_of(name)) for name in takers}
    each, odd = divmod(len(board.places), len(takers))
    by_most = sorted(takers, key=lambda name: (-has[name], name))
    return {name: each + (index < odd) for index, name in enumerate(by_most)}
