"""The background sealer: chains what was booked into signed blocks, again and again."""

from typing import Final

from sqlalchemy import Connection

from okey.errors import Exhausted, NotFound, Unavailable
from okey_runtime.clock import Clock
from okey_runtime.database import Database, Isolation
from okey_runtime.logging import get_logger
from services.wallet.chain import Block, ChainKeys, Head
from services.wallet.metrics import CHAIN_HEAD, SEALED
from services.wallet.sealing import newest_block, seal_next

SETTLE_MS: Final = 2_000
"""How old a journal is before the background sealer takes it: older ones have mostly committed."""

_log = get_logger(__name__)


class ChainKeyMissing(NotFound):
    """This wallet has no key to sign with."""

    reason = "CHAIN_KEY_MISSING"


class Sealer:
    """Seals one ledger with one set of keys; several wallets may seal the same one."""

    def __init__(self, database: Database, keys: ChainKeys, clock: Clock) -> None:
        self.keys: Final = keys
        self._database = database
        self._clock = clock
        self._signed: Head | None = None

    @property
    def signed(self) -> Head | None:
        """The newest head that this process has signed: the chain must hold it for ever."""
        return self._signed

    async def seal(self, settle_ms: int = 0) -> int:
        """Seal everything that was booked until ``settle_ms`` ago; how many blocks it made."""
        made = 0
        now_ms = self._clock.now_ms()
        until_ms = now_ms - settle_ms if settle_ms else None

        def work(connection: Connection) -> Block | None:
            return seal_next(connection, self.keys, now_ms, until_ms)

        while block := await self._database.transact(work, Isolation.REPEATABLE_READ):
            made += 1
            self._signed = block.head
            SEALED.inc(block.journal_count)
            CHAIN_HEAD.set(block.block_no)
            # Logs leave the machine: a head in them is an anchor too.
            _log.info(
                "block_sealed",
                block_no=block.block_no,
                digest=block.digest,
                last_journal=block.last_journal,
                key_id=block.key_id,
                signature=block.signature,
            )
        return made

    async def head(self) -> Head | None:
        """The newest block's head, after sealing what is booked; None while nothing is."""
        await self.seal()
        newest = await self._database.read(newest_block)
        return None if newest is None else newest.head

    async def run(self, every_ms: int) -> None:
        """Seal for ever; what the database refuses now is sealed later."""
        while True:
            try:
                await self.seal(SETTLE_MS)
            except (Unavailable, Exhausted) as error:
                _log.warning("sealing_failed", error=str(error))
            await self._clock.sleep_until_ms(self._clock.monotonic_ms() + every_ms)
