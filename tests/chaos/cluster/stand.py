"""The platform of a run: several engines, lobbies, wallets and bot workers as processes, on one
real PostgreSQL and one real Valkey.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey_runtime.channel import replicas_target
from okey_runtime.clock import SystemClock
from okey_runtime.identity import Role
from services.standalone.shape import STORES, Shape
from tests.chaos.money.processes import Service
from tests.chaos.tables.stand import TablesStand
from tests.fixtures.postgres import PostgresServer
from tests.fixtures.valkey import Valkey

WHOLE: Final = Shape({"lobby": 2, "engine": 3, "wallet": 2, "bots": 2}, first_port=0)
SMALL: Final = Shape({"lobby": 1, "engine": 3, "wallet": 1, "bots": 1}, first_port=0)
ENGINES: Final = tuple(part.name for part in WHOLE.parts if part.kind == "engine")
DATABASE_HOSTS: Final = {name: f"127.0.1.{n}" for n, name in enumerate(ENGINES, start=1)}
"""Where each engine finds the database, so that one can be cut off from it and no other."""

_SHARDS_TIMEOUT_S: Final = 2.0
_LOOK_EVERY_S: Final = 0.1
_BACKDATED_MS: Final = 3_600_000


class _Backdated(SystemClock):
    """Tokens are made an hour ago, so that an engine whose clock is behind takes them too."""

    def now_ms(self) -> int:
        return super().now_ms() - _BACKDATED_MS


@dataclass(frozen=True, slots=True)
class Tempo:
    """How fast engines and play are; the defaults are those of production."""

    clock_factor: int = 1
    bot_pace_ms: int = 1_200
    stall_ms: int = 2_000
    lease_ms: int = 6_000
    renew_ms: int = 2_000
    events_off: str = ""
    """Kinds of events that the first life of each engine does not know, as an older version."""


class ClusterStand(TablesStand):
    """Every service of a shape; rating in this process.

    With ``hosts`` each engine finds the database at an address of its own, where the server must
    listen.
    """

    def __init__(
        self,
        folder: Path,
        server: PostgresServer,
        valkey: Valkey,
        tempo: Tempo,
        shape: Shape = WHOLE,
        *,
        has_hosts: bool = False,
    ) -> None:
        self._parts = [part for part in shape.parts if part.kind not in STORES]
        self.NAMES = tuple(part.name for part in self._parts)
        super().__init__(
            *(folder, server, tempo.clock_factor, tempo.bot_pace_ms, tempo.stall_ms),
            issuer_clock=_Backdated(),
        )
        self.valkey: Final = valkey
        self.tempo: Final = tempo
        self._has_hosts = has_hosts
        by_kind: dict[str, list[str]] = {}
        for part in self._parts:
            by_kind.setdefault(part.kind, []).append(self.addresses[part.name])
        self.addresses |= {kind: replicas_target(own) for kind, own in by_kind.items()}

    def engines(self) -> dict[str, Service]:
        """The engines by name."""
        return {name: self.services[name] for name in ENGINES}

    def lobby_channel(self) -> grpc.aio.Channel:
        """A channel to any lobby, without a token."""
        return self._channel_to(self.addresses["lobby"])

    def engine_channel(self) -> grpc.aio.Channel:
        """A channel to any engine, without a token."""
        return self._channel_to(self.addresses["engine"])

    async def shards(self) -> engine_pb2.ListShardsResponse | None:
        """Who has what, by the first engine that answers; None where none does."""
        metadata = (("authorization", f"Bearer {self.token('operator', Role.OPERATOR)}"),)
        stub = engine_pb2_grpc.OperatorServiceStub(self.engine_channel())
        request = engine_pb2.ListShardsRequest()
        try:
            return await stub.ListShards(request, timeout=_SHARDS_TIMEOUT_S, metadata=metadata)
        except grpc.aio.AioRpcError:
            return None

    async def all_owned(self) -> None:
        """Return once every shard has a living engine and every engine is a member."""
        while True:
            answer = await self.shards()
            if answer is not None:
                alive = {each.engine for each in answer.engines if each.lease_left_ms}
                if alive >= set(ENGINES) and all(p.engine in alive for p in answer.shards):
                    return
            await asyncio.sleep(_LOOK_EVERY_S)

    async def balanced(self) -> None:
        """Return once every engine has some of the shards, so that hitting any hits tables."""
        while True:
            answer = await self.shards()
            if answer is not None:
                having = {each.engine for each in answer.engines if each.shards}
                if having == set(ENGINES):
                    return
            await asyncio.sleep(_LOOK_EVERY_S)

    def _special(self, rating_address: str) -> dict[str, dict[str, str]]:
        kinds = super()._special(rating_address)
        kinds["lobby"] = {
            "OKEY_ENGINE_ADDRESS": self.addresses["engine"],
            "OKEY_WALLET_ADDRESS": self.addresses["wallet"],
            "OKEY_RATING_ADDRESS": rating_address,
            "OKEY_REDIS_URL": self.valkey.url.get_secret_value(),
            "OKEY_SERVICE_TOKEN_DIR": str(self.token_dir(Role.LOBBY)),
        }
        kinds["engine"] |= {
            "OKEY_LEASE_MS": str(self.tempo.lease_ms),
            "OKEY_RENEW_MS": str(self.tempo.renew_ms),
            "OKEY_EVENTS_OFF": self.tempo.events_off,
            "OKEY_STOP_GRACE_MS": "2000",
        }
        every = {part.name: dict(kinds[part.kind]) for part in self._parts}
        for name in ENGINES:
            every[name]["OKEY_ENGINE_NAME"] = name
            if self._has_hosts:
                url = self.engine_url.replace("@127.0.0.1:", f"@{DATABASE_HOSTS[name]}:")
                every[name]["OKEY_DATABASE_URL"] = url
        return every


@asynccontextmanager
async def standing(
    folder: Path,
    server: PostgresServer,
    valkey: Valkey,
    tempo: Tempo,
    shape: Shape = WHOLE,
    *,
    has_hosts: bool = False,
) -> AsyncIterator[ClusterStand]:
    """A stand that runs, every shard owned, until the block ends."""
    stand = ClusterStand(folder, server, valkey, tempo, shape, has_hosts=has_hosts)
    try:
        await stand.start()
        await stand.balanced()
        yield stand
    finally:
        await stand.stop()
