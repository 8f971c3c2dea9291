"""Looks at every process of a platform once a second: does it take work, who owns which tables."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Final, Self

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey_runtime.audiences import audience_for
from okey_runtime.auth import Role, mint
from okey_runtime.channel import open_channel, replicas_target
from okey_runtime.clock import SystemClock
from okey_runtime.dev_platform import make_dev_key
from okey_runtime.service_token import Metadata, fixed_token
from services.standalone.child import Child
from services.standalone.health import Health, health_of

_TIMEOUT_S: Final = 1.0
_TOKEN_MS: Final = 3_600_000


class State(StrEnum):
    """What a process is seen to do."""

    READY = "ready"
    NOT_READY = "not ready"
    SILENT = "no answer"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Looked:
    """What was seen at one moment: every process's state, the engines by name, and who owns what in
    words.
    """

    states: Mapping[str, State]
    members: Mapping[str, engine_pb2.EngineMember]
    summary: Sequence[str]


class Looking:
    """Channels to look through; use it with ``async with``."""

    def __init__(self, children: Sequence[Child]) -> None:
        self._children = children
        engines = [each.plan.ports.address for each in children if each.plan.kind == "engine"]
        self._token: Metadata = ()
        self._token_until_ms = 0
        self._channel = open_channel(replicas_target(engines), token=self._metadata)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._channel.close()

    async def look(self) -> Looked:
        """Ask everybody at once; takes a second at most."""
        shards = asyncio.create_task(self._shards())
        found = await asyncio.gather(*(_state(child) for child in self._children))
        states = {
            child.plan.name: state for child, state in zip(self._children, found, strict=True)
        }
        answer = await shards
        if answer is None:
            return Looked(states, {}, ["who owns which tables: no engine answers"])
        members = {member.engine: member for member in answer.engines}
        return Looked(states, members, summary(answer))

    async def _shards(self) -> engine_pb2.ListShardsResponse | None:
        stub = engine_pb2_grpc.OperatorServiceStub(self._channel)
        try:
            return await stub.ListShards(engine_pb2.ListShardsRequest(), timeout=_TIMEOUT_S)
        except grpc.aio.AioRpcError:
            return None

    def _metadata(self) -> Metadata:
        now_ms = SystemClock().now_ms()
        if now_ms >= self._token_until_ms:
            token = mint(
                make_dev_key(),
                subject="status",
                roles=[Role.OPERATOR],
                now_ms=now_ms,
                ttl_ms=_TOKEN_MS,
                audience=audience_for("engine"),
            )
            self._token, self._token_until_ms = fixed_token(token)(), now_ms + _TOKEN_MS // 2
        return self._token


def summary(answer: engine_pb2.ListShardsResponse) -> list[str]:
    """Who owns what, and what nobody owns."""
    owners = Counter(place.engine for place in answer.shards)
    orphans = owners.pop("", 0)
    tables = sum(place.tables for place in answer.shards)
    text = f"{tables} tables in {len(answer.shards)} shards of {len(owners)} engines"
    return [f"{text}; {orphans} shards have no engine" if orphans else text]


async def _state(child: Child) -> State:
    if not child.is_running:
        return State.DOWN
    match await health_of(child.plan):
        case Health.SERVING:
            return State.READY
        case Health.NOT_SERVING:
            return State.NOT_READY
        case _:
            return State.SILENT
