"""The whole platform in the test's own process, called with raw bytes as anybody."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from pydantic import SecretStr

from okey.api.engine.v1 import engine_pb2
from okey_runtime.channel import open_channel
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from services.engine.settings import EngineSettings
from services.engine.shards import SHARD_COUNT
from services.lobby.app import LobbyApp
from services.lobby.settings import LobbySettings
from tests.fixtures.valkey import free_port
from tests.integration.engine.platform import Platform
from tests.security.rpcs import Rpc

PATIENCE_S = 10.0


@dataclass(frozen=True)
class Outcome:
    """How a call ended: OK with the first answer, or refused with a reason; an open stream that
    says nothing yet is OK with none.
    """

    code: grpc.StatusCode
    reason: str = ""
    message: str = ""
    answer: bytes = b""

    @property
    def is_refused(self) -> bool:
        """Whether the call was not carried out."""
        return self.code is not grpc.StatusCode.OK


class Everything(Platform):
    """The platform with its lobby; ``call`` makes any call with any bytes."""

    def __init__(
        self, folder: Path, clock_factor: int, redis_url: SecretStr, **engine: Any
    ) -> None:
        """``engine`` are settings of the engine beside the usual ones."""
        super().__init__(folder, clock_factor, f"sqlite:///{folder / 'engine.db'}")
        self.folder = folder
        self._redis_url = redis_url
        self._engine = engine
        # Known before it serves: wallet and rating start first, and follow its list.
        self._engine_port = free_port()
        self._raw: dict[str, grpc.aio.Channel] = {}

    async def start(self, engines: int = 1) -> None:
        await super().start(engines)
        shared = self._shared("lobby")
        settings = LobbySettings(
            engine_address=self.engine_address,
            wallet_address=self._addresses["wallet"],
            rating_address=self._addresses["rating"],
            redis_url=self._redis_url,
            service_token_dir=self.issuer.service_token_dir(self._folder, Role.LOBBY),
            **shared,
        )
        await self._serve("lobby", LobbyApp(settings))

    def _shared(self, name: str) -> dict[str, Any]:
        """One address shows every wrong token there is: none is left unlooked at."""
        shared = super()._shared(name) | {
            "revocations_every_ms": 20,
            "bad_tokens_burst": 1_000_000,
        }
        if name in ("wallet", "rating"):
            shared["engine_address"] = f"127.0.0.1:{self._engine_port}"
            shared["service_token_dir"] = self.issuer.service_token_dir(self.folder, Role(name))
        return shared

    def engine_settings(self, **settings: Any) -> EngineSettings:
        if "engine_name" not in settings:
            settings = {"listen_port": self._engine_port, **self._engine, **settings}
        return super().engine_settings(**settings)

    def address(self, home: str) -> str:
        """Where the process listens."""
        return self.engine_address if home == "engine" else self._addresses[home]

    async def stop(self) -> None:
        for channel in self._raw.values():
            await channel.close()
        await super().stop()

    async def call(
        self,
        rpc: Rpc,
        payloads: Sequence[bytes],
        token: str | None,
        patience_s: float = PATIENCE_S,
    ) -> Outcome:
        """Call with these messages; of a stream of answers the first counts if it comes."""
        metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        options: dict[str, Any] = {"metadata": metadata, "timeout": PATIENCE_S}
        method = self._method(rpc)
        said: Any
        try:
            if not rpc.gives_stream:
                said = iter(payloads) if rpc.takes_stream else payloads[0]
                return Outcome(grpc.StatusCode.OK, answer=await method(said, **options))
            over = asyncio.Event()
            said = _saying(payloads, over) if rpc.takes_stream else payloads[0]
            stream = method(said, **options)
            return await self._first(stream, over if rpc.takes_stream else None, patience_s)
        except grpc.aio.AioRpcError as error:
            failure = from_rpc_error(error)
            return Outcome(failure.code, failure.reason, failure.message)

    async def _first(self, stream: Any, over: asyncio.Event | None, patience_s: float) -> Outcome:
        """``over`` is set once the caller says no more: the service ends the stream once it has
        carried out what it was told, so that none of it happens during a later call.
        """
        reading = asyncio.ensure_future(stream.read())
        try:
            done, _ = await asyncio.wait([reading], timeout=patience_s)
            first = reading.result() if done else b""
            if over is not None:
                over.set()
                await reading
                await _ended(stream)
        finally:
            if over is not None:
                over.set()
            stream.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        return Outcome(grpc.StatusCode.OK, answer=b"" if first is grpc.aio.EOF else first)

    def _method(self, rpc: Rpc) -> Any:
        if rpc.home not in self._raw:
            self._raw[rpc.home] = open_channel(self.address(rpc.home))
        kinds = {
            (False, False): "unary_unary",
            (False, True): "unary_stream",
            (True, False): "stream_unary",
            (True, True): "stream_stream",
        }
        return getattr(self._raw[rpc.home], kinds[rpc.takes_stream, rpc.gives_stream])(rpc.path)


async def _saying(payloads: Sequence[bytes], over: asyncio.Event) -> AsyncIterator[bytes]:
    """The messages, and then an open stream until it is over."""
    for payload in payloads:
        yield payload
    await over.wait()


async def _ended(stream: Any) -> None:
    """Read a stream to its end, however it ends; the call has a deadline."""
    with suppress(grpc.aio.AioRpcError):
        while await stream.read() is not grpc.aio.EOF:
            pass


async def balanced(world: Platform) -> None:
    """Return once the two engines have as many shards each, so that no table moves any more."""
    operator = await world.operator()
    async with asyncio.timeout(60):
        while True:
            shards = await operator.ListShards(engine_pb2.ListShardsRequest())
            if [member.shards for member in shards.engines] == [SHARD_COUNT // 2] * 2:
                return


@asynccontextmanager
async def everything(
    folder: Path, redis_url: SecretStr, clock_factor: int = 1, **engine: Any
) -> AsyncIterator[Everything]:
    running = Everything(folder, clock_factor, redis_url, **engine)
    try:
        await running.start()
        yield running
    finally:
        await running.stop()
