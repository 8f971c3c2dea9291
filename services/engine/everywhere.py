"""What operators ask of all engines at once, or of another one; any engine answers it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Final

from okey.api.engine.v1 import engine_pb2, peer_pb2
from okey_runtime.errors import RpcFailure
from okey_runtime.logging import get_logger
from services.engine.errors import NoSuchEngine, OwnerAway
from services.engine.journal import Journal
from services.engine.peers import Peers
from services.engine.routes import Routes
from services.engine.shards import SHARD_COUNT, Board, Member, shard_of

_TRIES: Final = 3

_log = get_logger(__name__)

ListOwn = Callable[[int, str], Awaitable[peer_pb2.ListOwnTablesResponse]]
"""Gives a page of this engine's own tables: so many, after this id."""


@dataclass(frozen=True, slots=True)
class TablePage:
    """Tables of all engines by id, and whether there are more."""

    tables: Sequence[engine_pb2.TableSummary]
    has_more: bool


class Everywhere:
    """All engines of the database, this one among them."""

    def __init__(
        self, engine: str, journal: Journal, routes: Routes, peers: Peers, list_own: ListOwn
    ) -> None:
        self._engine = engine
        self._journal = journal
        self._routes = routes
        self._peers = peers
        self._list_own = list_own

    async def list_tables(self, size: int, after: str) -> TablePage:
        """A page of the tables of all engines.

        Raises ``OwnerAway`` where a shard is nobody's, or an engine does not answer: a list with
        holes would take tables off the lobby's.
        """
        for _ in range(_TRIES):
            board = await self._routes.board()
            pages = await self._pages(board, size, after)
            missing = set(range(SHARD_COUNT)).difference(*(page.shards for page in pages))
            if not missing:
                return _merged(pages, size)
            if any(board.owner_of(shard) is None for shard in missing):
                break
            # They were handed over between two answers, or are being loaded.
        raise OwnerAway(
            f"{len(missing)} shards have no engine just now, so a list would have holes; ask again"
        )

    async def _pages(
        self, board: Board, size: int, after: str
    ) -> Sequence[peer_pb2.ListOwnTablesResponse]:
        asked = [
            self._list_own(size, after)
            if member.engine == self._engine
            else self._peers.list_tables(member.address, size, after)
            for member in board.living()
        ]
        try:
            return await asyncio.gather(*asked)
        except RpcFailure as failure:
            raise OwnerAway(
                f"an engine does not list its tables ({failure}), so the list would have holes; "
                "ask again"
            ) from failure

    async def look(self) -> int:
        """Have every other engine look for news; how many matches run at those that answered."""
        board = await self._routes.board()
        others = [each for each in board.living() if each.engine != self._engine]
        answers = await asyncio.gather(
            *(self._peers.look(each.address) for each in others), return_exceptions=True
        )
        for member, answer in zip(others, answers, strict=True):
            if isinstance(answer, BaseException):
                # It sees the news with its next renewal.
                _log.warning("peer_does_not_look", engine=member.engine, error=str(answer))
        return sum(answer for answer in answers if isinstance(answer, int))

    async def forget(self, player: str) -> None:
        """Have every other engine forget the player's name. Raises ``OwnerAway`` where one does
        not answer; once it is dead it knows nothing any more.
        """
        board = await self._routes.board()
        others = [each for each in board.living() if each.engine != self._engine]
        try:
            await asyncio.gather(
                *(self._peers.forget_player(each.address, player) for each in others)
            )
        except RpcFailure as failure:
            raise OwnerAway(
                f"an engine does not answer ({failure}), and may show the name still; ask again"
            ) from failure

    async def member(self, engine: str) -> Member:
        """The engine of this name. Raises ``NoSuchEngine`` for one that does not live."""
        board = await self._routes.board()
        if not board.is_alive(engine):
            living = ", ".join(member.engine for member in board.living())
            raise NoSuchEngine(f"no engine {engine} lives; members: {living}")
        return board.members[engine]

    async def owner_of(self, shard: int) -> Member:
        """The engine that has the shard. Raises ``OwnerAway`` where nobody has it."""
        owner = (await self._routes.board()).owner_of(shard)
        if owner is None:
            raise OwnerAway(f"no engine has shard {shard} just now; ask again in some seconds")
        return owner

    async def shards(self) -> engine_pb2.ListShardsResponse:
        """Who has what."""
        board = await self._routes.board()
        tables = [0] * SHARD_COUNT
        for table in await self._journal.unretired_in(range(SHARD_COUNT)):
            tables[shard_of(table.table_id)] += 1
        return shards_message(board, tables)


def shards_message(board: Board, tables: Sequence[int]) -> engine_pb2.ListShardsResponse:
    """The board as operators see it; ``tables`` is how many each shard has."""
    owners = {place.owner for place in board.places}
    return engine_pb2.ListShardsResponse(
        engines=[
            engine_pb2.EngineMember(
                engine=name,
                address=member.address,
                lease_left_ms=max(0, member.leased_ms + board.lease_ms - board.now_ms)
                if board.is_alive(name)
                else 0,
                is_taking=member.is_taking,
                shards=len(board.shards_of(name)),
                tables=sum(tables[shard] for shard in board.shards_of(name)),
            )
            for name, member in sorted(board.members.items())
            if board.is_alive(name) or name in owners
        ],
        shards=[
            engine_pb2.ShardPlace(
                shard=shard,
                engine=place.owner if board.is_alive(place.owner) else "",
                is_pinned=place.is_pinned,
                tables=tables[shard],
            )
            for shard, place in enumerate(board.places)
        ],
    )


def _merged(pages: Sequence[peer_pb2.ListOwnTablesResponse], size: int) -> TablePage:
    """The first tables of all pages; of a table that two list, the newer row."""
    newest: dict[str, engine_pb2.TableSummary] = {}
    for table in merge(*(page.tables for page in pages), key=lambda table: table.table_id):
        known = newest.get(table.table_id)
        if known is None or known.seq < table.seq:
            newest[table.table_id] = table
    tables = list(newest.values())
    # Where a page was full, what comes after its last table is not known yet.
    full = [page.tables[-1].table_id for page in pages if page.has_more]
    known_to = min(full, default="~")
    tables = [table for table in tables if table.table_id <= known_to]
    return TablePage(tables[:size], bool(full) or len(tables) > size)
