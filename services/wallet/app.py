"""The only place where the wallet's parts meet."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import grpc
from pydantic import Field, SecretStr

from okey.api.wallet.v1 import wallet_pb2_grpc
from okey.money.journal import MAX_CHIPS
from okey.rules.rule_set import DEFAULT_RULE_SET, RULE_SETS
from okey_runtime.access import AccessTable
from okey_runtime.checks import peer_check, tell_database
from okey_runtime.config import Environment, ServiceSettings
from okey_runtime.database import Database
from okey_runtime.keys import make_chain_key
from okey_runtime.logging import get_logger
from okey_runtime.migrations import check_schema, migrate
from okey_runtime.patience import until_there
from okey_runtime.production import Unsafe
from okey_runtime.revocation_feed import follow_from_engine
from okey_runtime.server import ServiceServer
from services.wallet.approvals_audit import keep_limit
from services.wallet.auditing import Auditor
from services.wallet.books import APPROVAL_EXPIRES_MS, APPROVAL_LIMIT_CHIPS, House
from services.wallet.chain import ChainKeys
from services.wallet.check import ledger_check
from services.wallet.engine_client import EngineClient
from services.wallet.event_watch import EventWatch
from services.wallet.house_watch import watch_house
from services.wallet.metrics import CHAIN_KEY
from services.wallet.operations import Operations
from services.wallet.privileges import grant_application
from services.wallet.sealer import Sealer
from services.wallet.servicer import ACCESS, SERVICE, WalletServicer
from services.wallet.wallet import Wallet

MIGRATIONS: Final = Path(__file__).with_name("migrations")
STANDALONE_WELCOME_CHIPS: Final = 10_000

_log = get_logger(__name__)


class WalletSettings(ServiceSettings):
    """The wallet's settings beside those of every service."""

    owner_database_url: SecretStr | None = None
    """PostgreSQL, as the role that owns the schema: it migrates, and the service's own role gets
    only what it needs. Without it the service's role migrates, so owns what it writes. Where a job
    migrates (``OKEY_MIGRATES``), only the job needs it.
    """
    welcome_chips: int | None = Field(default=None, ge=0, le=1_000_000_000)
    """What a player's account opens with; by default 10,000 in standalone and nothing elsewhere."""

    chain_key: SecretStr | None = None
    """The private key (a JWK, Ed25519) that signs the chain; for a secret of its own."""
    chain_key_file: Path | None = None
    """Or a file with it, mode 0600; standalone makes it. Without either nothing is sealed.
    """
    chain_old_keys_file: Path | None = None
    """A JWKS file with the public halves of earlier keys, whose blocks are still trusted."""
    seal_every_ms: int = Field(default=5_000, ge=100)
    """How often what was booked is sealed."""
    audit_every_ms: int = Field(default=900_000, ge=1_000)
    """How often the whole ledger is audited."""
    event_check_every_ms: int = Field(default=30_000, ge=1_000)
    """How often what was booked since is compared with the engine's events."""
    audit_freezes: bool = False
    """Whether such an audit freezes players' accounts that have a finding."""
    house_every_ms: int = Field(default=300_000, ge=1_000)
    """How often the house's accounts are read for the metrics; that sums all of their postings."""
    approval_limit_chips: int | None = Field(default=None, ge=0, le=MAX_CHIPS)
    """Chips that one operator may grant or take back alone, on one account within 24 h; above that
    another operator must approve. By default no limit in standalone and 1,000,000 elsewhere.
    """
    approval_expires_ms: int = Field(default=APPROVAL_EXPIRES_MS, ge=1_000)
    """How long such a request waits for the other operator."""
    engine_address: str | None = None
    """host:port or dns:///name:port of the engine, whose money events audits compare, and
    whose list of revoked tokens is followed; needs ``OKEY_SERVICE_TOKEN_DIR`` too.
    """

    @property
    def has_chain_key(self) -> bool:
        """Whether what is booked can be sealed."""
        return self.chain_key is not None or self.chain_key_file is not None

    def unsafe(self) -> Iterator[tuple[Unsafe, str]]:
        """As of every service, and a ledger that nobody seals."""
        yield from super().unsafe()
        if not self.has_chain_key:
            yield (
                Unsafe.UNSEALED_LEDGER,
                "the wallet has no key that seals its ledger: set OKEY_CHAIN_KEY_FILE or the "
                "secret okey_chain_key",
            )

    @property
    def opening_chips(self) -> int:
        """What a player's account opens with here."""
        if self.welcome_chips is not None:
            return self.welcome_chips
        is_standalone = self.environment is Environment.STANDALONE
        return STANDALONE_WELCOME_CHIPS if is_standalone else 0

    @property
    def approval_limit(self) -> int | None:
        """What one operator may move alone here; None for any number of chips."""
        if self.approval_limit_chips is not None:
            return self.approval_limit_chips
        is_standalone = self.environment is Environment.STANDALONE
        return None if is_standalone else APPROVAL_LIMIT_CHIPS


async def migrate_ledger(owner_url: SecretStr, application_url: SecretStr) -> None:
    """Bring the schema up to date as its owner, and let the application in.

    Raises ``DatabaseAway``, ``RoleMissing``.
    """
    await migrate(owner_url, MIGRATIONS)
    await grant_application(owner_url, application_url)


class DatabaseUrlMissing(Exception):
    """A ledger needs a database; set OKEY_DATABASE_URL."""


class WalletApp:
    """The wallet: one database, a sealer and an auditor beside it."""

    def __init__(self, settings: WalletSettings) -> None:
        self._settings = settings
        self._database: Database | None = None
        self._channel: grpc.aio.Channel | None = None

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
        """See to the schema and serve it; a database that is away is waited for.

        Raises ``DatabaseUrlMissing``, ``KeyFileBroken`` or ``SchemaIsOlder``.
        """
        settings = self._settings
        if settings.database_url is None:
            raise DatabaseUrlMissing("no database for the ledger: set OKEY_DATABASE_URL")
        keys = self._keys()
        url = settings.database_url
        await until_there(lambda: self._have_schema(url))
        database = self._database = Database(url, connections=settings.database_connections)
        house = House(
            rule_sets=RULE_SETS,
            current_version=DEFAULT_RULE_SET.version,
            welcome_chips=settings.opening_chips,
            approval_limit_chips=settings.approval_limit,
            approval_expires_ms=settings.approval_expires_ms,
        )
        limit, now_ms = house.approval_limit_chips, host.clock.now_ms()
        await until_there(
            lambda: database.transact(lambda connection: keep_limit(connection, limit, now_ms))
        )
        sealer = None if keys is None else Sealer(database, keys, host.clock)
        engine = self._engine(host)
        auditor = Auditor(database, host.clock, sealer, engine)
        watch = EventWatch(database, host.clock, engine, auditor)
        wallet = Wallet(database, house, host.clock)
        servicer = WalletServicer(
            wallet,
            Operations(database, house, host.clock, auditor, sealer),
        )
        wallet_pb2_grpc.add_WalletServiceServicer_to_server(servicer, host.grpc)
        if sealer is not None:
            host.spawn(sealer.run(settings.seal_every_ms), "sealer")
        audits = auditor.run_every(settings.audit_every_ms, freezes=settings.audit_freezes)
        host.spawn(audits, "audits")
        host.spawn(watch.run_every(settings.event_check_every_ms), "events")
        host.spawn(watch_house(wallet, host.clock, settings.house_every_ms), "house")
        tell_database(host.status, database, settings.database_url, host.clock, MIGRATIONS)
        look = ledger_check(auditor, host.clock, settings.audit_every_ms)
        host.status.check("ledger", look)
        follow_from_engine(host, self._channel)
        if self._channel is not None and settings.engine_address is not None:
            look = peer_check(self._channel, settings.engine_address, host.clock)
            host.status.check("engine", look)

    async def _have_schema(self, url: SecretStr) -> None:
        owner_url = self._settings.owner_database_url
        if not self._settings.migrates_itself:
            await check_schema(url, MIGRATIONS)
        elif owner_url is None:
            await migrate(url, MIGRATIONS)
        else:
            await migrate_ledger(owner_url, url)

    def _keys(self) -> ChainKeys | None:
        settings, old_keys = self._settings, self._settings.chain_old_keys_file
        CHAIN_KEY.set(settings.has_chain_key)
        if settings.chain_key is not None:
            return ChainKeys.parse(settings.chain_key.get_secret_value(), old_keys)
        if settings.chain_key_file is None:
            _log.warning(
                "journals_are_not_sealed",
                why="neither OKEY_CHAIN_KEY_FILE nor the secret okey_chain_key is set",
            )
            return None
        if settings.environment is Environment.STANDALONE and not settings.chain_key_file.exists():
            settings.chain_key_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_chain_key(settings.chain_key_file)
        return ChainKeys.load(settings.chain_key_file, old_keys)

    def _engine(self, host: ServiceServer) -> EngineClient | None:
        settings = self._settings
        if settings.engine_address is None or not host.tokens.are_set:
            return None
        token = host.tokens.to("engine")
        name = settings.tls_engine_name
        self._channel = host.dial(settings.engine_address, token, tls_name=name)
        return EngineClient(self._channel)

    async def drain(self) -> None:
        """Nothing to hand over: every call is one transaction."""

    async def close(self) -> None:
        """Close the database once what is under way has ended."""
        if self._channel is not None:
            await self._channel.close()
        if self._database is not None:
            await self._database.close()
