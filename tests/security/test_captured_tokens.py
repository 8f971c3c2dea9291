"""A token that a service has shown to one callee opens nothing elsewhere.

A listener stands in for rating, a bot worker and another engine. It keeps what it is shown by the
real engine, which is then shown to every RPC of every real service.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from okey.api.engine.v1 import peer_pb2
from okey_runtime.errors import RpcFailure
from okey_runtime.server import ServiceServer
from services.engine.app import EngineApp
from services.engine.peers import Peers
from tests.security.rpcs import every_rpc
from tests.security.stand import Everything
from tests.security.test_every_rpc import refusals

RPCS = every_rpc()


class Listener(grpc.GenericRpcHandler):
    """Answers no call, and keeps the tokens that come with them."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[str] = asyncio.Queue()

    def service(self, handler_call_details: Any) -> None:
        shown = dict(handler_call_details.invocation_metadata).get("authorization", "")
        if shown:
            self.heard.put_nowait(shown.removeprefix("Bearer "))


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[Listener, str]]:
    """A listener, and where it listens."""
    listener, server = Listener(), grpc.aio.server()
    server.add_generic_rpc_handlers([listener])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield listener, f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


async def captured(world: Everything, folder: Path, callee: str) -> str:
    """What a real engine shows to the server at the callee's address."""
    async with listening() as (listener, address):
        away = {f"{each}_address": "127.0.0.1:1" for each in ("wallet", "rating", "bots")}
        settings = world.engine_settings(
            engine_name="alone", database_url=f"sqlite:///{folder / 'engine.db'}"
        )
        settings = settings.model_copy(update=away | {f"{callee}_address": address})
        async with ServiceServer(EngineApp(settings)) as engine:
            if callee == "peer":
                peers = Peers(engine.tokens.to("peer"), engine.dial)
                with pytest.raises(RpcFailure, match="Method not found"):
                    await peers.look(address)
                await peers.close()
            else:
                # It looks at whom it calls, with the token with which it calls.
                await engine.status.tell(with_checks=True)
        return listener.heard.get_nowait()


@pytest.mark.parametrize("callee", ["bots", "rating", "peer"])
async def test_what_a_callee_was_shown_opens_nothing_elsewhere(
    world: Everything, tmp_path: Path, callee: str
) -> None:
    token = await captured(world, tmp_path, callee)
    home = "engine" if callee == "peer" else callee
    elsewhere = [rpc for rpc in RPCS if rpc.home != home]
    assert {rpc.home for rpc in elsewhere} > {"wallet"}
    for name, outcome in (await refusals(world, token, rpcs=elsewhere)).items():
        assert (outcome.code, outcome.reason) == (
            grpc.StatusCode.UNAUTHENTICATED,
            "WRONG_AUDIENCE",
        ), name


async def test_what_another_engine_was_shown_opens_only_what_engines_say_to_each_other(
    world: Everything, tmp_path: Path
) -> None:
    """No table, no operator's RPC, no event: of an engine's RPCs only the peers' and its status."""
    token = await captured(world, tmp_path, "peer")
    at_engines = [rpc for rpc in RPCS if rpc.home == "engine"]
    told = await refusals(world, token, rpcs=at_engines)
    opened = {name for name, outcome in told.items() if outcome.reason != "ROLE_REFUSED"}
    peers = {
        f"PeerService.{each.name}"
        for each in peer_pb2.DESCRIPTOR.services_by_name["PeerService"].methods
    }
    assert opened == peers | {"StatusService.GetStatus"}
