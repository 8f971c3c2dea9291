"""What is asked of one engine by its name, or of the one that has a shard: here, or passed on."""

from collections.abc import Callable
from typing import Final

from okey_runtime.errors import RpcFailure
from okey_runtime.logging import get_logger
from okey_runtime.readiness import Readiness
from services.engine.errors import NoSuchEngine, NoSuchTable, OwnerAway
from services.engine.everywhere import Everywhere
from services.engine.journal import Journal
from services.engine.peers import Peers
from services.engine.sharing import Sharing
from services.engine.tables import Tables

_log = get_logger(__name__)


class Here:
    """This engine among the others; ``end`` asks its process to end."""

    def __init__(
        self,
        engine: str,
        tables: Tables,
        journal: Journal,
        sharing: Sharing,
        everywhere: Everywhere,
        peers: Peers,
        readiness: Readiness,
        end: Callable[[], None],
    ) -> None:
        self.engine: Final = engine
        self._tables = tables
        self._journal = journal
        self._sharing = sharing
        self._everywhere = everywhere
        self._peers = peers
        self._readiness = readiness
        self._end = end

    async def leave(self) -> int:
        """Take no new work; shards are handed over while the process ends. How many tables it has.

        Calls under way are answered within the process's grace.
        """
        await self._readiness.block("draining")
        count = len(self._tables.live())
        _log.info("draining", tables=count)
        self._sharing.leave()
        self._end()
        return count

    async def drain(self, engine: str) -> int:
        """Make the engine of this name leave; how many tables it had.

        Raises ``NoSuchEngine`` or ``OwnerAway``.
        """
        if engine == self.engine:
            return await self.leave()
        member = await self._everywhere.member(engine)
        try:
            return await self._peers.leave(member.address)
        except RpcFailure as failure:
            raise OwnerAway(f"engine {engine} does not answer ({failure}); ask again") from failure

    async def refuse_if_unknown(self, table_id: str) -> None:
        """Raises ``NoSuchTable``."""
        if await self._journal.registered(table_id) is None:
            raise NoSuchTable(f"there is no table {table_id}")

    async def move(self, shard: int, to: str) -> str:
        """Have whoever has the shard give it to an engine; that one's address.

        Raises ``NoSuchEngine`` or ``OwnerAway``.
        """
        member = await self._everywhere.member(to)
        if not member.is_taking:
            raise NoSuchEngine(f"engine {to} takes no shards: it has just started, or leaves")
        owner = await self._everywhere.owner_of(shard)
        if owner.engine == self.engine:
            if not await self._sharing.hand_over({shard}, to, is_pinned=True):
                raise OwnerAway(f"shard {shard} is on its way to another engine; ask again")
            return member.address
        try:
            await self._peers.hand_over(owner.address, shard, to)
        except RpcFailure as failure:
            raise OwnerAway(
                f"engine {owner.engine} does not hand shard {shard} over ({failure}); ask again"
            ) from failure
        return member.address
