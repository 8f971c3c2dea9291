"""Engine and wallet as processes on a real PostgreSQL, everything on loopback, to be killed."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import grpc

from okey_runtime.audiences import DEFAULT_AUDIENCE
from okey_runtime.channel import open_channel
from okey_runtime.clock import Clock
from okey_runtime.config import DEV_ISSUER, Environment
from okey_runtime.failpoints import POINTS
from okey_runtime.identity import Role
from okey_runtime.keys import create_signing_key
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import fixed_token
from services.rating.app import RatingApp
from services.rating.settings import RatingSettings
from services.standalone.ports import free_ports
from tests.chaos.money.processes import ROOT, Service
from tests.fixtures.issuer import Issuer
from tests.fixtures.limits import UNLIMITED_VARIABLES
from tests.fixtures.postgres import PostgresServer

WELCOME: Final = 10_000
CLOCK_FACTOR: Final = 30
_DAY_MS: Final = 86_400_000
_LATEST_PASS: Final = 12


class Stand:
    """What is killed, and how to reach it.

    ``chance`` decides which lives end at a failpoint of their own, a share of ``armed_share``.
    """

    NAMES: tuple[str, ...] = ("engine", "wallet")
    """The services that run as processes."""
    before: Path | None = None
    """The clone of the release before, as which processes begin; then every token is of its kind,
    one for all services.
    """

    def __init__(
        self,
        folder: Path,
        server: PostgresServer,
        chance: random.Random,
        armed_share: float,
        issuer_clock: Clock | None = None,
    ) -> None:
        self.folder = folder
        self.server = server
        self.chance = chance
        self._armed_share = armed_share
        self.engine_url = server.create_database()
        self.wallet_url = server.create_database()
        self.chain_key_file = folder / "chain-key.json"
        self.postgres_kills = 0
        self._is_sparing = False
        self._issuer = Issuer(folder, issuer_clock)
        self._stack = AsyncExitStack()
        ports = free_ports(self.NAMES)
        self.addresses = {name: own.address for name, own in ports.items()}
        self.services: dict[str, Service] = {}

    @property
    def kills(self) -> int:
        """How many processes were killed so far."""
        return self.postgres_kills + sum(each.kills for each in self.services.values())

    def told(self) -> str:
        """How often each was killed, in words."""
        by_name = {name: service.kills for name, service in sorted(self.services.items())}
        by_name["postgresql"] = self.postgres_kills
        return ", ".join(f"{name} {kills}" for name, kills in by_name.items())

    async def start(self) -> None:
        create_signing_key(self.chain_key_file, "chain")
        rating = await self._stack.enter_async_context(ServiceServer(RatingApp(self._rating())))
        for name, special in self._special(rating.address).items():
            self.services[name] = Service(
                name,
                self.addresses[name],
                self._common(name) | special | self._old_token(name),
                partial(self._failpoint, name),
                self.folder / f"{name}.log",
                self.before or ROOT,
            )
        await asyncio.gather(*(service.start() for service in self.services.values()))

    async def stop(self) -> None:
        await asyncio.gather(*(service.stop() for service in self.services.values()))
        await self._stack.aclose()

    async def kill_postgres(self) -> None:
        """Kill every process of the server, and start it again."""
        await asyncio.to_thread(self.server.kill)
        self.postgres_kills += 1
        await asyncio.to_thread(self.server.start)

    async def spare(self) -> None:
        """Start whatever has a failpoint ahead once more, without one, and kill nothing more."""
        self._is_sparing = True
        for service in self.services.values():
            service.kill()
        await asyncio.sleep(0)
        await self.ready()
        self._is_sparing = False

    async def ready(self) -> None:
        """Return once both services take work."""
        await asyncio.gather(*(service.ready() for service in self.services.values()))

    async def channel(self, subject: str, role: Role) -> grpc.aio.Channel:
        """A channel to the engine, for as long as the stand stands."""
        token = fixed_token(self.token(subject, role))
        channel = open_channel(self.addresses["engine"], token=token)
        return await self._stack.enter_async_context(channel)

    def token(self, subject: str, role: Role) -> str:
        """A token, valid for a day; a service's or an operator's for engines."""
        to = "engine" if self.before is None else ""
        return self._issuer.token(subject, [role], ttl_ms=_DAY_MS, to=to)

    def _special(self, rating_address: str) -> dict[str, dict[str, str]]:
        """By service, what it needs beside the rest."""
        return {
            "wallet": {
                "OKEY_DATABASE_URL": self.wallet_url,
                "OKEY_WELCOME_CHIPS": str(WELCOME),
                "OKEY_CHAIN_KEY_FILE": str(self.chain_key_file),
                "OKEY_SEAL_EVERY_MS": "200",
            },
            "engine": {
                "OKEY_DATABASE_URL": self.engine_url,
                "OKEY_WALLET_ADDRESS": self.addresses["wallet"],
                "OKEY_RATING_ADDRESS": rating_address,
                # Nobody is there, so house seats make neutral moves (U10).
                "OKEY_BOTS_ADDRESS": "127.0.0.1:1",
                "OKEY_CLOCK_FACTOR": str(CLOCK_FACTOR),
                "OKEY_HOLD_WAIT_MS": "0",
                "OKEY_SERVICE_TOKEN_DIR": str(self.token_dir(Role.ENGINE)),
            },
        }

    def _failpoint(self, name: str) -> str:
        """In most lives, the place where this one ends."""
        if self._is_sparing or not self._armed_share:
            return ""
        points = sorted(point for point in POINTS if point.startswith(name))
        point = self.chance.choice(points)
        passes = self.chance.randint(1, _LATEST_PASS)
        return f"{point}@{passes}" if self.chance.random() < self._armed_share else ""

    def _common(self, name: str) -> dict[str, str]:
        host, port = self.addresses[name].split(":")
        return {
            "OKEY_ENVIRONMENT": Environment.TEST.value,
            "OKEY_LISTEN_HOST": host,
            "OKEY_LISTEN_PORT": port,
            "OKEY_JWKS_FILE": str(self._issuer.jwks_file),
            "OKEY_TOKEN_ISSUER": DEV_ISSUER,
            "OKEY_TOKEN_AUDIENCE": DEFAULT_AUDIENCE,
            "OKEY_LOG_LEVEL": "WARNING",
            **UNLIMITED_VARIABLES,
        }

    def token_dir(self, role: Role) -> Path:
        """A folder with that role's tokens for every service, valid for a day."""
        return self._issuer.service_token_dir(self.folder, role, ttl_ms=_DAY_MS)

    def _rating(self) -> RatingSettings:
        return RatingSettings.model_validate(
            {
                "environment": Environment.TEST,
                "jwks_file": self._issuer.jwks_file,
                "database_url": f"sqlite:///{self.folder / 'rating.db'}",
                "stop_grace_ms": 0,
                "token_old_audience": self.before is not None,
            }
        )

    def _old_token(self, name: str) -> dict[str, str]:
        """One token for all services, as the release before has them (docs/operations.md)."""
        kind = name.partition("-")[0]
        if self.before is None:
            return {}
        tokens = self.folder / f"{kind}-old-token"
        tokens.mkdir(exist_ok=True)
        file = tokens / "token"
        file.write_text(self._issuer.token(f"{kind}-service", [Role(kind)], ttl_ms=_DAY_MS))
        return {
            "OKEY_SERVICE_TOKEN_FILE": str(file),
            "OKEY_SERVICE_TOKEN_DIR": str(tokens),  # has none for any callee
            "OKEY_TOKEN_OLD_AUDIENCE": "true",
        }


@asynccontextmanager
async def standing(
    folder: Path, server: PostgresServer, chance: random.Random, armed_share: float = 0.8
) -> AsyncIterator[Stand]:
    """A stand that runs until the block ends."""
    stand = Stand(folder, server, chance, armed_share)
    try:
        await stand.start()
        yield stand
    finally:
        await stand.stop()
