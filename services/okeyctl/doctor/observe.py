"""What can be seen of an installation from here: every process of every service, who owns which
tables, and what the ledger says of itself. Judges nothing.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import grpc
from grpc_health.v1 import health_pb2

from okey.api.common.v1 import status_pb2, status_pb2_grpc
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_runtime.clock import Clock
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.readiness import LIVENESS, READINESS
from okey_runtime.service_token import MetadataProvider
from okey_runtime.tls import ClientTls
from services.okeyctl.reach import Reach, security_of

TokenFor = Callable[[str], MetadataProvider]
"""Gives the operator's token for a service."""

KINDS: Final = ("gateway", "lobby", "engine", "wallet", "rating", "bots")

_CONNECT_TIMEOUT_S: Final = 3.0
_HEALTH_TIMEOUT_S: Final = 3.0
# The process itself gives each of its checks five seconds.
_STATUS_TIMEOUT_S: Final = 10.0
_SHARDS_TIMEOUT_S: Final = 10.0
_LEDGER_TIMEOUT_S: Final = 60.0
_CHECK: Final = "/grpc.health.v1.Health/Check"
_SERVING: Final = health_pb2.HealthCheckResponse.SERVING


@dataclass(frozen=True, slots=True)
class Seen:
    """One process as it was seen; times are this machine's, around the answer of its status."""

    kind: str
    address: str
    label: str
    """What it is called where it does not say so itself."""
    unreachable: str = ""
    """Why no connection came about."""
    silent: str = ""
    """Why it said nothing of its health, though it takes connections."""
    is_live: bool = False
    is_ready: bool = False
    status: status_pb2.GetStatusResponse | None = None
    refusal: RpcFailure | None = None
    """Why it did not tell its status."""
    asked_ms: int = 0
    answered_ms: int = 0

    @property
    def name(self) -> str:
        """What a person calls it."""
        own = self.status.name if self.status is not None else ""
        return own or self.label


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that was seen at about one moment."""

    seen: Sequence[Seen]
    unresolved: Mapping[str, str]
    """By service, why its address names no machine."""
    shards: engine_pb2.ListShardsResponse | RpcFailure | None = None
    ledger: wallet_pb2.VerifyLedgerResponse | RpcFailure | None = None
    """None where it was not asked for."""


async def observe(
    targets: Mapping[str, str],
    tokens: TokenFor,
    clock: Clock,
    *,
    labels: Mapping[str, str] = MappingProxyType({}),
    with_ledger: bool,
) -> Observed:
    """Look at every process behind the targets, by service, as an operator with those tokens;
    ``labels`` are names of processes by address, where they are known.
    """
    places: list[tuple[str, str, str]] = []
    unresolved: dict[str, str] = {}
    for kind, target in targets.items():
        try:
            found = await resolve(target)
            places += [(kind, at, labels.get(at, f"{kind} {at}")) for at in found]
        except OSError as error:
            unresolved[kind] = f"{target}: {error.strerror or error}"
    seen = await asyncio.gather(*(look_at(*each, tokens(each[0]), clock) for each in places))
    told = {each.kind: each.address for each in seen if each.status is not None}
    shards = await _shards(told["engine"], tokens("engine")) if "engine" in told else None
    wants_ledger = with_ledger and "wallet" in told
    ledger = await _ledger(told["wallet"], tokens("wallet")) if wants_ledger else None
    return Observed(seen, unresolved, shards, ledger)


async def resolve(target: str) -> list[str]:
    """``host:port`` of every process behind a gRPC target, as its name stands for them now.

    Raises:
        OSError: the name stands for nobody.
    """
    if target.startswith("ipv4:"):
        return target.removeprefix("ipv4:").split(",")
    named = target.rpartition("/")[2]
    host, _, port = named.rpartition(":")
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host.strip("[]"), port or None, type=socket.SOCK_STREAM)
    addresses = sorted({_written(str(info[4][0]), port) for info in found})
    return addresses if len(addresses) > 1 else [named]


def _written(host: str, port: str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def look_at(
    kind: str, address: str, label: str, token: MetadataProvider, clock: Clock
) -> Seen:
    """One process."""
    place = (kind, address, label)
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(_CONNECT_TIMEOUT_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
            writer.close()
    except TimeoutError:
        return Seen(*place, unreachable=f"no connection within {_CONNECT_TIMEOUT_S:g} s")
    except (OSError, ValueError) as error:
        return Seen(*place, unreachable=str(error))
    async with _dial(kind, address, token) as channel:
        try:
            is_live = await _serves(channel, LIVENESS)
            is_ready = await _serves(channel, READINESS)
        except grpc.aio.AioRpcError as error:
            return Seen(*place, silent=str(from_rpc_error(error)))
        stub = status_pb2_grpc.StatusServiceStub(channel)
        request = status_pb2.GetStatusRequest(with_checks=True)
        asked_ms = clock.now_ms()
        try:
            # Looking takes time, and the clock shall be read as soon as it is asked for.
            now = await stub.GetStatus(status_pb2.GetStatusRequest(), timeout=_HEALTH_TIMEOUT_S)
            answered_ms = clock.now_ms()
            status = await stub.GetStatus(request, timeout=_STATUS_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            refusal = from_rpc_error(error)
            return Seen(*place, is_live=is_live, is_ready=is_ready, refusal=refusal)
        status.now_ms = now.now_ms
    return Seen(
        *place,
        is_live=is_live,
        is_ready=is_ready,
        status=status,
        asked_ms=asked_ms,
        answered_ms=answered_ms,
    )


def _dial(kind: str, address: str, token: MetadataProvider) -> grpc.aio.Channel:
    security = security_of(kind)
    if isinstance(security, ClientTls) and not security.name:
        # Each process is dialled by an address of its own, which no certificate names.
        security = security.named(kind)
    return Reach(address, token, security).open()


async def _serves(channel: grpc.aio.Channel, service: str) -> bool:
    check = channel.unary_unary(
        _CHECK,
        request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )
    request = health_pb2.HealthCheckRequest(service=service)
    answer = await check(request, timeout=_HEALTH_TIMEOUT_S)
    return bool(answer.status == _SERVING)


async def _shards(
    address: str, token: MetadataProvider
) -> engine_pb2.ListShardsResponse | RpcFailure:
    async with _dial("engine", address, token) as channel:
        stub = engine_pb2_grpc.OperatorServiceStub(channel)
        request = engine_pb2.ListShardsRequest()
        try:
            return await stub.ListShards(request, timeout=_SHARDS_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            return from_rpc_error(error)


async def _ledger(
    address: str, token: MetadataProvider
) -> wallet_pb2.VerifyLedgerResponse | RpcFailure:
    async with _dial("wallet", address, token) as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        request = wallet_pb2.VerifyLedgerRequest()
        try:
            return await stub.VerifyLedger(request, timeout=_LEDGER_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            return from_rpc_error(error)
