"""Who is a member and which engine has which shard, in the engine's database.

Time is the database's alone, so that an engine whose clock is wrong neither keeps what is not its
own nor loses what is. All of this decides who *should* own a table and nothing else: that nobody
else *can* write to it is the journal's key (ADR 2).
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from sqlalchemy import Connection, delete, func, select, text
from sqlalchemy import update as change

from okey.errors import Unavailable
from okey_runtime.database import Database, Isolation
from okey_runtime.logging import get_logger
from services.engine.schema import members, shards
from services.engine.set_based import put
from services.engine.shards import Board, Member, Place, plan

# Rows are changed by compare-and-set; a paused engine must not make others wait or fail.
_WRITES: Final = Isolation.READ_COMMITTED
_FORGOTTEN_AFTER_LEASES: Final = 100

_NOW: Final = {
    "sqlite": text("SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"),
    "postgresql": text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"),
}

_log = get_logger(__name__)


class NameTaken(Unavailable):
    """Another engine lives under this name; give each a name of its own (OKEY_ENGINE_NAME)."""

    reason = "ENGINE_NAME_TAKEN"


class NoMember(Exception):
    """The engine is not a member any more: others have what it had."""


@dataclass(frozen=True, slots=True)
class Myself:
    """What an engine says of itself; ``incarnation`` is one run of it."""

    engine: str
    address: str
    incarnation: str
    events: frozenset[int]


class Membership(Protocol):
    """Keeps the board; ``Members`` is the one for production.

    All methods raise ``DatabaseAway`` (a change may then have taken effect) and ``DatabaseBusy``.
    """

    async def now_ms(self) -> int:
        """The database's clock."""
        ...

    async def join(self, me: Myself) -> Board:
        """Become a member. What an earlier run under this name had is this one's; it claims what
        nobody has if it has something or is alone, else it takes shards once it serves.

        Raises ``NameTaken`` where that run lives elsewhere; one at the same address cannot.
        """
        ...

    async def renew(
        self,
        me: Myself,
        right_ms: int,
        settled: Collection[int] = (),
        *,
        is_taking: bool = True,
        is_claiming: bool = True,
    ) -> Board:
        """Renew the lease, and claim a fair share of what nobody has or whose owner does not live,
        if the engine takes shards and is to claim any.

        ``right_ms`` is when everything was last right at the engine's tables; at those of
        ``settled`` every clock goes again. Whoever comes back after its own lease had ended claims
        nothing: it was perhaps the database that was away, from all. Raises ``NoMember``.
        """
        ...

    async def hand_over(
        self, me: Myself, given: Collection[int], to: str, now_ms: int, *, is_pinned: bool = False
    ) -> bool:
        """Give shards of one's own to an engine that lives and takes shards; whether that could
        be, for all of them.
        """
        ...

    async def pin(self, me: Myself, shards: Collection[int]) -> bool:
        """Keep shards of one's own, however they would be balanced; whether all are one's own."""
        ...

    async def leave(self, me: Myself, now_ms: int) -> None:
        """Be no member any more; whatever is left is nobody's."""
        ...

    async def board(self) -> Board:
        """Who has what now."""
        ...


class Members:
    """The membership in a database; ``clock`` asks for its time."""

    def __init__(
        self,
        database: Database,
        lease_ms: int,
        clock: Callable[[Connection], int] | None = None,
    ) -> None:
        self._database = database
        self._lease_ms = lease_ms
        self._clock = clock or database_now_ms

    async def now_ms(self) -> int:
        """The database's clock."""
        return await self._database.read(self._clock)

    async def board(self) -> Board:
        """Who has what now."""
        return await self._database.read(self._board)

    async def join(self, me: Myself) -> Board:
        """Become a member."""
        return await self._database.transact(lambda c: self._join(c, me), _WRITES)

    async def renew(
        self,
        me: Myself,
        right_ms: int,
        settled: Collection[int] = (),
        *,
        is_taking: bool = True,
        is_claiming: bool = True,
    ) -> Board:
        """Renew the lease, and claim a fair share."""
        return await self._database.transact(
            lambda c: self._renew(c, me, right_ms, settled, is_taking, is_claiming), _WRITES
        )

    async def hand_over(
        self, me: Myself, given: Collection[int], to: str, now_ms: int, *, is_pinned: bool = False
    ) -> bool:
        """Give shards of one's own away."""
        return await self._database.transact(
            lambda c: self._hand_over(c, me, given, to, now_ms, is_pinned), _WRITES
        )

    async def pin(self, me: Myself, shards: Collection[int]) -> bool:
        """Keep shards of one's own."""
        return await self._database.transact(lambda c: _pin(c, me, shards), _WRITES)

    async def leave(self, me: Myself, now_ms: int) -> None:
        """Be no member any more."""

        def work(connection: Connection) -> None:
            if _lock(connection, me) is not None:
                connection.execute(_of(me.engine).values(owner=None, **_still_since(now_ms)))
                connection.execute(delete(members).where(members.c.engine == me.engine))

        await self._database.transact(work, _WRITES)

    def _board(self, connection: Connection) -> Board:
        found = connection.execute(select(members)).all()
        places = connection.execute(select(shards).order_by(shards.c.shard)).all()
        return Board(
            now_ms=self._clock(connection),
            lease_ms=self._lease_ms,
            members={row.engine: _member(row) for row in found},
            places=tuple(Place(row.owner or "", row.since_ms, row.is_pinned) for row in places),
        )

    def _join(self, connection: Connection, me: Myself) -> Board:
        board = self._board(connection)
        known = board.members.get(me.engine)
        if known is not None and board.is_alive(me.engine) and known.address != me.address:
            raise NameTaken(
                f"an engine at {known.address} lives under the name {me.engine}: give this one "
                "another OKEY_ENGINE_NAME, or wait until the lease of the other one ends"
            )
        if known is not None:
            # What it had is ours at once, with what its clocks had left then.
            connection.execute(_of(me.engine).values(_still_since(known.renewed_ms)))
        is_taking = takes_at_once(board, me.engine)
        row = _row(me, board.now_ms, board.now_ms, is_taking=is_taking)
        put(connection, members, [row])
        return self._claimed(connection, me) if is_taking else self._board(connection)

    def _renew(
        self,
        connection: Connection,
        me: Myself,
        right_ms: int,
        settled: Collection[int],
        is_taking: bool,
        is_claiming: bool,
    ) -> Board:
        leased_ms = _lock(connection, me)
        if leased_ms is None:
            raise NoMember(f"{me.engine} is not a member any more: it joins again")
        now_ms = self._clock(connection)
        row = _row(me, right_ms, now_ms, is_taking=is_taking)
        connection.execute(change(members).where(members.c.engine == me.engine).values(row))
        if settled:
            are_settled = _of(me.engine).where(shards.c.shard.in_(sorted(settled)))
            connection.execute(are_settled.values(since_ms=None))
        if not (is_taking and is_claiming) or now_ms - leased_ms >= self._lease_ms:
            return self._board(connection)
        return self._claimed(connection, me)

    def _claimed(self, connection: Connection, me: Myself) -> Board:
        """The board, with what is to be ours of what nobody living has."""
        board = self._board(connection)
        planned = plan(board)
        orphans: dict[str, list[int]] = {}
        for shard, place in enumerate(board.places):
            if planned[shard] == me.engine and not board.is_alive(place.owner):
                orphans.setdefault(place.owner, []).append(shard)
        places = list(board.places)
        for owner, wanted in sorted(orphans.items()):
            for shard, since_ms in self._claim(connection, me, board, owner, wanted):
                places[shard] = Place(me.engine, since_ms)
        self._forget_the_dead(connection, board, places)
        return replace(board, places=tuple(places))

    def _claim(
        self, connection: Connection, me: Myself, board: Board, owner: str, wanted: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Those of the shards that nobody else has taken meanwhile, with the moment since which
        their clocks stand still.
        """
        is_as_seen = shards.c.owner == owner if owner else shards.c.owner.is_(None)
        came_back = select(members.c.engine).where(
            members.c.engine == owner, members.c.leased_ms > board.now_ms - self._lease_ms
        )
        # Whoever is at a shard now, such as its paused owner, is not waited for.
        free = (
            select(shards.c.shard)
            .where(shards.c.shard.in_(wanted), is_as_seen, ~came_back.exists())
            .order_by(shards.c.shard)
            .with_for_update(skip_locked=True)
        )
        found = list(connection.execute(free).scalars())
        if not found:
            return []
        known = board.members.get(owner)
        last_ms = known.renewed_ms if known is not None else board.now_ms
        taken = (
            change(shards)
            .where(shards.c.shard.in_(found))
            .values(owner=me.engine, is_pinned=False, **_still_since(last_ms))
            .returning(shards.c.shard, shards.c.since_ms)
        )
        return [(row.shard, row.since_ms) for row in connection.execute(taken)]

    def _forget_the_dead(
        self, connection: Connection, board: Board, places: Sequence[Place]
    ) -> None:
        """Take those off the list who are long dead and have nothing any more."""
        owners = {place.owner for place in places}
        long_ago_ms = board.now_ms - _FORGOTTEN_AFTER_LEASES * self._lease_ms
        dead = [
            name
            for name, member in board.members.items()
            if name not in owners and member.leased_ms < long_ago_ms
        ]
        if dead:
            is_dead = members.c.engine.in_(dead) & (members.c.leased_ms < long_ago_ms)
            connection.execute(delete(members).where(is_dead))

    def _hand_over(
        self,
        connection: Connection,
        me: Myself,
        given: Collection[int],
        to: str,
        now_ms: int,
        is_pinned: bool,
    ) -> bool:
        if _lock(connection, me) is None:
            return False
        heard_after_ms = self._clock(connection) - self._lease_ms
        lives = select(members.c.engine).where(
            members.c.engine == to,
            members.c.leased_ms > heard_after_ms,
            members.c.is_taking,
        )
        give = (
            _of(me.engine)
            .where(shards.c.shard.in_(sorted(given)), lives.exists())
            .values(owner=to, is_pinned=is_pinned, **_still_since(now_ms))
        )
        return connection.execute(give).rowcount == len(given)


def takes_at_once(board: Board, engine: str) -> bool:
    """Whether an engine that joins takes shards before it serves: nobody else would, or it had some
    a moment ago.
    """
    is_alone = all(member.engine == engine for member in board.living())
    return is_alone or bool(board.shards_of(engine))


def database_now_ms(connection: Connection) -> int:
    """Milliseconds since the epoch, by the clock of the database's machine."""
    return int(connection.execute(_NOW[connection.dialect.name]).scalar_one())


def _lock(connection: Connection, me: Myself) -> int | None:
    """When this run of the engine was last heard of; None where it is no member. Nobody else
    changes its row until the transaction ends.
    """
    mine = (
        select(members.c.leased_ms)
        .where(members.c.engine == me.engine, members.c.incarnation == me.incarnation)
        .with_for_update()
    )
    leased_ms: int | None = connection.execute(mine).scalar()
    return leased_ms


def _pin(connection: Connection, me: Myself, pinned: Collection[int]) -> bool:
    if _lock(connection, me) is None:
        return False
    kept = _of(me.engine).where(shards.c.shard.in_(sorted(pinned))).values(is_pinned=True)
    return connection.execute(kept).rowcount == len(pinned)


def _of(engine: str) -> Any:
    """A change of every shard that is the engine's."""
    return change(shards).where(shards.c.owner == engine)


def _still_since(ms: int) -> dict[str, Any]:
    """Clocks of the shard stand still since this moment, unless they have for longer."""
    return {"since_ms": func.coalesce(shards.c.since_ms, ms)}


def _row(me: Myself, right_ms: int, now_ms: int, *, is_taking: bool) -> dict[str, Any]:
    return {
        "engine": me.engine,
        "address": me.address,
        "renewed_ms": right_ms,
        "incarnation": me.incarnation,
        "leased_ms": now_ms,
        "is_taking": is_taking,
        "events": ",".join(map(str, sorted(me.events))),
    }


def _member(row: Any) -> Member:
    return Member(
        engine=row.engine,
        address=row.address,
        incarnation=row.incarnation,
        renewed_ms=row.renewed_ms,
        leased_ms=row.leased_ms,
        is_taking=row.is_taking,
        events=frozenset(int(number) for number in row.events.split(",") if number),
    )
