import asyncio
import json
from collections.abc import Sequence
from typing import Any

import grpc

from okey_runtime.channel import open_channel, service_config
from okey_runtime.config import ServiceSettings
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import Metadata, fixed_token
from tests.unit.runtime.caller import KINDS, Caller
from tests.unit.runtime.echo import SERVICE, UNARY, EchoApp, ask
from tests.unit.runtime.tokens import Issuer


class Flaky:
    """A bare server whose one method is away for the first calls."""

    def __init__(self, failures: int) -> None:
        self.calls = 0
        self._failures = failures

    async def answer(self, request: bytes, context: Any) -> bytes:
        self.calls += 1
        if self.calls <= self._failures:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "away")
        return b"here"

    async def call(self, idempotent: Sequence[str]) -> bytes | grpc.StatusCode:
        server = grpc.aio.server()
        handlers: dict[str, Any] = {"Get": grpc.unary_unary_rpc_method_handler(self.answer)}
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("a.B", handlers)])
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            async with open_channel(f"127.0.0.1:{port}", idempotent=idempotent) as channel:
                get: Any = channel.unary_unary("/a.B/Get")
                return bytes(await get(b"", timeout=10))
        except grpc.aio.AioRpcError as error:
            return error.code()
        finally:
            await server.stop(None)


async def test_an_idempotent_method_is_tried_again() -> None:
    flaky = Flaky(failures=2)
    assert await flaky.call(["/a.B/Get"]) == b"here"
    assert flaky.calls == 3


async def test_tries_are_bounded() -> None:
    flaky = Flaky(failures=100)
    assert await flaky.call(["/a.B/Get"]) is grpc.StatusCode.UNAVAILABLE
    assert flaky.calls == 4


async def test_another_method_is_not_tried_again() -> None:
    flaky = Flaky(failures=1)
    assert await flaky.call([]) is grpc.StatusCode.UNAVAILABLE
    assert flaky.calls == 1


def test_calls_go_round_all_addresses() -> None:
    assert json.loads(service_config())["loadBalancingConfig"] == [{"round_robin": {}}]


async def test_each_call_brings_the_token_of_its_moment(
    server: ServiceServer, issuer: Issuer
) -> None:
    subjects = iter(["ayse", "mehmet", "fatma", "ali", "zeynep"])
    asked: list[Metadata] = []

    def renewed() -> Metadata:
        asked.append(fixed_token(issuer.token(next(subjects)))())
        return asked[-1]

    async with open_channel(server.address, token=renewed) as channel:
        caller = Caller(channel)
        answers = [(await caller.call(method, ask()))[0] for method in KINDS]
    assert answers == ["ayse", "mehmet", "fatma", "ali", "zeynep"]
    assert len(asked) == len(KINDS)


async def test_a_channel_finds_a_server_that_has_come_back(
    settings: ServiceSettings, issuer: Issuer, unused_port: int
) -> None:
    fixed = settings.model_copy(update={"listen_port": unused_port})
    async with open_channel(
        f"127.0.0.1:{unused_port}",
        token=fixed_token(issuer.token("ayse")),
        idempotent=[f"/{SERVICE}/Unary"],
    ) as channel:
        caller = Caller(channel)
        for _ in range(2):
            async with ServiceServer(EchoApp(fixed), issuer.clock):
                call = caller.call(UNARY, ask(), timeout_s=5)
                assert await asyncio.wait_for(call, timeout=5) == ["ayse"]
            assert (await caller.failure(UNARY, ask())).code is grpc.StatusCode.UNAVAILABLE
