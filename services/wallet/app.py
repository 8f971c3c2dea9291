"""The only place where the wallet's parts meet."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from okey.api.wallet.v1 import wallet_pb2_grpc
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey_runtime.access import AccessTable
from okey_runtime.config import Environment, ServiceSettings
from okey_runtime.database import Database
from okey_runtime.migrations import migrate
from okey_runtime.server import ServiceServer
from pydantic import Field

from services.wallet.books import House
from services.wallet.servicer import ACCESS, SERVICE, WalletServicer
from services.wallet.wallet import Wallet

MIGRATIONS: Final = Path(__file__).with_name("migrations")
STANDALONE_WELCOME_CHIPS: Final = 10_000


class WalletSettings(ServiceSettings):
    """The wallet's settings beside those of every service."""

    welcome_chips: int | None = Field(default=None, ge=0, le=1_000_000_000)
    """What a player's account opens with; by default 10,000 in standalone and nothing elsewhere."""

    @property
    def opening_chips(self) -> int:
        """What a player's account opens with here."""
        if self.welcome_chips is not None:
            return self.welcome_chips
        is_standalone = self.environment is Environment.STANDALONE
        return STANDALONE_WELCOME_CHIPS if is_standalone else 0


class DatabaseUrlMissing(Exception):
    """A ledger needs a database; set OKEY_DATABASE_URL."""


class WalletApp:
    """The wallet: one database, no background work; nothing to hand over at its end."""

    def __init__(self, settings: WalletSettings) -> None:
        self._settings = settings
        self._database: Database | None = None

    @property
    def settings(self) -> WalletSettings:
        """The service's settings."""
        return self._settings

    @property
    def services(self) -> Sequence[str]:
        """WalletService alone."""
        return (SERVICE,)

    @property
    def access(self) -> AccessTable:
        """Writes for the engine and operators, reads for owners and those who show balances."""
        return ACCESS

    async def start(self, host: ServiceServer) -> None:
        """Bring the schema up to date and serve it.

        Raises ``DatabaseUrlMissing`` or ``DatabaseAway``.
        """
        url = self._settings.database_url
        if url is None:
            raise DatabaseUrlMissing("no database for the ledger: set OKEY_DATABASE_URL")
        await migrate(url, MIGRATIONS)
        self._database = Database(url)
        house = House(
            rule_sets={DEFAULT_RULE_SET.version: DEFAULT_RULE_SET},
            current_version=DEFAULT_RULE_SET.version,
            welcome_chips=self._settings.opening_chips,
        )
        servicer = WalletServicer(Wallet(self._database, house, host.clock))
        wallet_pb2_grpc.add_WalletServiceServicer_to_server(servicer, host.grpc)

    async def drain(self) -> None:
        """Nothing to hand over: every call is one transaction."""

    async def close(self) -> None:
        """Close the database once what is under way has ended."""
        if self._database is not None:
            await self._database.close()
