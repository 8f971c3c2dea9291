"""What a wallet says about its own ledger, whatever another one in the same process has found."""

from okey_runtime.clock import VirtualClock
from okey_runtime.status import OK, WARNING, WRONG, Found
from services.wallet.auditing import Auditor
from services.wallet.chain import ChainKeys
from services.wallet.check import ledger_check
from services.wallet.sealer import Sealer
from services.wallet.wallet import Wallet
from tests.contract.test_wallet_chain import signing_keys
from tests.contract.wallet_house import HOUSE
from tests.contract.wallet_play import Play
from tests.fixtures.ledger import LedgerDatabase

EVERY_MS = 60_000


class Looked:
    """A ledger with its own auditor, and the check that an operator sees."""

    def __init__(self, database: LedgerDatabase, keys: ChainKeys | None) -> None:
        self.database = database
        self.clock = VirtualClock()
        sealer = None if keys is None else Sealer(database, keys, self.clock)
        self.auditor = Auditor(database, self.clock, sealer, None)
        self.look = ledger_check(self.auditor, self.clock, EVERY_MS)

    async def found(self) -> Found:
        """What the check says."""
        return await self.look()


async def test_without_an_audit_nothing_is_claimed(database: LedgerDatabase) -> None:
    looked = Looked(database, signing_keys())
    assert await looked.found() == Found(OK, "no audit of its own yet")


async def test_a_ledger_without_a_key_says_so(database: LedgerDatabase) -> None:
    found = await Looked(database, None).found()
    assert (found.state, "it has no key" in found.text) == (WARNING, True)


async def test_an_audit_that_is_long_ago_is_a_warning(database: LedgerDatabase) -> None:
    looked = Looked(database, signing_keys())
    await looked.auditor.run()
    assert (await looked.found()).state is OK
    looked.clock.advance_ms(3 * EVERY_MS + 1)
    assert (await looked.found()).state is WARNING


async def test_each_wallet_tells_what_it_has_found_itself(database: LedgerDatabase) -> None:
    """Two in one process, of which one has audited since a chip was made from nothing."""
    before, after = Looked(database, signing_keys()), Looked(database, signing_keys())
    await Play(Wallet(database, HOUSE, after.clock)).grant("A", 70)
    await before.auditor.run()
    await database.tamper("UPDATE accounts SET balance = balance + 1 WHERE account = 'player:A'")
    await after.auditor.run()
    found = await after.found()
    assert (found.state, found.text) == (WRONG, "the newest audit has findings: balance_differs 1")
    assert (await before.found()).state is OK
