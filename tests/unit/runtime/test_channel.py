import asyncio
import json
from collections.abc import Sequence
from typing import Any

import grpc
import pytest

from okey_runtime.channel import open_channel, service_config
from okey_runtime.config import ServiceSettings
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import Metadata, fixed_token
from tests.unit.runtime.caller import KINDS, Caller
from tests.unit.runtime.echo import BIDI, SERVICE, UNARY, EchoApp, ask
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


async def test_a_server_that_is_slow_to_shake_hands_is_reached(
    server: ServiceServer, issuer: Issuer
) -> None:
    """A busy machine takes longer than the first wait before a reconnect."""
    open_pipes: set[asyncio.StreamWriter] = set()

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_pipes.add(writer)
        while part := await reader.read(1 << 16):
            writer.write(part)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = server.address.split(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        await asyncio.sleep(0.8)
        await asyncio.gather(pipe(reader, far_writer), pipe(far_reader, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as slow:
        port = slow.sockets[0].getsockname()[1]
        token = fixed_token(issuer.token("ayse"))
        async with open_channel(f"127.0.0.1:{port}", token=token) as channel:
            assert await Caller(channel).call(UNARY, ask()) == ["ayse"]
        for writer in open_pipes:
            writer.close()


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


async def test_a_services_failed_connection_holds_no_other_channel_up(
    server: ServiceServer, unused_port: int
) -> None:
    """A service that starts first asks for one that does not serve yet."""
    target = f"127.0.0.1:{unused_port}"
    async with server.dial(target) as early:
        with pytest.raises(grpc.aio.AioRpcError):
            await early.unary_unary("/a.B/Get")(b"")
        late = grpc.aio.server()
        handler = grpc.unary_unary_rpc_method_handler(Flaky(0).answer)
        late.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("a.B", {"Get": handler})]
        )
        late.add_insecure_port(target)
        await late.start()
        try:
            async with open_channel(target) as channel:
                assert await channel.unary_unary("/a.B/Get")(b"") == b"here"
        finally:
            await late.stop(None)


async def test_nothing_is_sent_any_more_once_the_server_has_ended_a_stream(
    server: ServiceServer, issuer: Issuer
) -> None:
    """Else a task waits for messages until the collector destroys it in the midst of another."""
    token = fixed_token(issuer.token("ayse"))
    async with open_channel(server.address, token=token) as channel:
        call: Any = channel.stream_stream(BIDI)()
        await call.write(b"\xff")
        assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT
        sending = [
            task
            for task in asyncio.all_tasks()
            if "_consume_request_iterator" in repr(task.get_coro())
        ]
        async with asyncio.timeout(10):
            await asyncio.gather(*sending, return_exceptions=True)
