"""Who calls is known before a message is read; then its size counts, then its content."""

import asyncio
import socket
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from okey_runtime.channel import open_channel
from okey_runtime.config import ServiceSettings
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.request_size import most_bytes
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import fixed_token
from tests import http2
from tests.streams import cancelling
from tests.unit.runtime.caller import KINDS, Caller
from tests.unit.runtime.conftest import Connect
from tests.unit.runtime.echo import BIDI, CLIENT_STREAM, LENIENT, UNARY, Ask, EchoApp, ask
from tests.unit.runtime.tokens import Issuer

Code = grpc.StatusCode
HEALTH = "/grpc.health.v1.Health/Check"
STATUS = "/okey.api.common.v1.StatusService/GetStatus"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
TOO_LARGE = most_bytes(UNARY) + 1


async def unsent(caller: Caller, method: str) -> RpcFailure:
    """How a call fails of which only the headers are sent."""
    with cancelling(caller.channel.stream_stream(method)(timeout=10)) as call:
        try:
            await call.read()
        except grpc.aio.AioRpcError as error:
            return from_rpc_error(error)
    raise AssertionError(f"{method} was answered without a message")


async def sent(caller: Caller, method: str, *contents: bytes) -> RpcFailure:
    """How a call with these messages fails; it stays open for more."""
    with cancelling(caller.channel.stream_stream(method)(timeout=10)) as call:
        try:
            for content in contents:
                await call.write(content)
            while await call.read() is not grpc.aio.EOF:
                pass
        except grpc.aio.AioRpcError as error:
            return from_rpc_error(error)
    raise AssertionError(f"{method} did not fail")


@pytest.mark.parametrize("method", [*KINDS, STATUS])
async def test_a_stranger_is_refused_before_the_message_is_there(
    connect: Connect, method: str
) -> None:
    assert (await unsent(await connect(None), method)).reason == "TOKEN_MISSING"


@pytest.mark.parametrize("method", [*KINDS, STATUS])
async def test_a_bad_token_is_refused_before_the_message_is_there(
    connect: Connect, issuer: Issuer, method: str
) -> None:
    caller = await connect(issuer.token(audience="other"))
    assert (await unsent(caller, method)).reason == "WRONG_AUDIENCE"


async def test_a_wrong_role_is_refused_before_the_message_is_there(connect: Connect) -> None:
    assert (await unsent(await connect(), STATUS)).reason == "ROLE_REFUSED"


async def test_reflection_for_callers_is_refused_to_strangers_before_they_ask(
    settings: ServiceSettings, issuer: Issuer
) -> None:
    closed = settings.model_copy(update={"reflection": "callers"})
    async with serving(closed, issuer, None) as caller:
        assert (await unsent(caller, REFLECTION)).reason == "TOKEN_MISSING"


async def test_who_calls_too_often_is_refused_before_the_message_is_there(
    settings: ServiceSettings, issuer: Issuer
) -> None:
    slow = settings.model_copy(update={"calls_per_s": 1, "calls_burst": 1})
    async with serving(slow, issuer, issuer.token("ayse")) as caller:
        await caller.call(UNARY, ask())
        assert (await unsent(caller, UNARY)).reason == "RATE_LIMITED"


@asynccontextmanager
async def serving(
    settings: ServiceSettings, issuer: Issuer, token: str | None
) -> AsyncIterator[Caller]:
    provider = None if token is None else fixed_token(token)
    async with (
        ServiceServer(EchoApp(settings), issuer.clock) as server,
        open_channel(server.address, token=provider) as channel,
    ):
        yield Caller(channel)


@pytest.fixture
def settings(settings: ServiceSettings) -> ServiceSettings:
    """No message is waited for so briefly that a test could take it for a refusal."""
    return settings.model_copy(update={"first_message_ms": 3_600_000})


@pytest.fixture
def open_to_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at a service with a method that takes more: gRPC itself lets the message through."""
    monkeypatch.setattr("okey_runtime.server.most_bytes_of", lambda _: 1 << 20)


@pytest.mark.usefixtures("open_to_larger")
@pytest.mark.parametrize("method", KINDS)
async def test_a_message_larger_than_any_of_its_method_is_refused_unparsed(
    connect: Connect, app: EchoApp, method: str
) -> None:
    failure = await sent(await connect(), method, b"\xff" * TOO_LARGE)
    assert (failure.code, failure.reason) == (Code.INVALID_ARGUMENT, "REQUEST_TOO_LARGE")
    assert failure.metadata["bytes"] == str(TOO_LARGE)
    assert failure.metadata["most_bytes"] == str(TOO_LARGE - 1)
    assert not app.entered.is_set()


@pytest.mark.usefixtures("open_to_larger")
async def test_a_message_of_the_largest_size_is_parsed(connect: Connect) -> None:
    failure = await sent(await connect(), UNARY, b"\xff" * (TOO_LARGE - 1))
    assert failure.reason == "MALFORMED_REQUEST"


@pytest.mark.usefixtures("open_to_larger")
@pytest.mark.parametrize("method", [CLIENT_STREAM, BIDI])
async def test_every_message_of_a_stream_has_the_limit(connect: Connect, method: str) -> None:
    good = ask().SerializeToString()
    failure = await sent(await connect(), method, good, bytes(TOO_LARGE))
    assert failure.reason == "REQUEST_TOO_LARGE"


@pytest.mark.usefixtures("open_to_larger")
async def test_a_stream_that_answers_messages_itself_goes_on_after_one(connect: Connect) -> None:
    method: Any = (await connect()).channel.stream_stream(
        LENIENT, response_deserializer=Ask.FromString
    )
    messages = [bytes(TOO_LARGE), ask("good").SerializeToString()]
    answers = [answer.what async for answer in method(iter(messages))]
    assert answers == ["REQUEST_TOO_LARGE", "good"]


def _nested(depth: int) -> bytes:
    content = b""
    while len(content) < depth:
        length = len(content)
        head = bytes([length]) if length < 128 else bytes([length % 128 + 128, length // 128])
        content = b"\x1a" + head + content
    return content


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x0a\x03\xff\xfe\xfd", "MALFORMED_REQUEST"),
        (b"\x0a\x7fshort", "MALFORMED_REQUEST"),
        (b"\xf8\x7f\x01" * 400, "INVALID_FIELD"),
        (b"\x0b" * 200, "MALFORMED_REQUEST"),
        (_nested(1_000), "INVALID_FIELD"),
    ],
    ids=["no UTF-8", "cut off", "unknown fields", "open groups", "nested unknown fields"],
)
async def test_hostile_content_within_the_limit_is_refused_with_a_reason(
    connect: Connect, app: EchoApp, content: bytes, reason: str
) -> None:
    assert (await sent(await connect(), UNARY, content)).reason == reason
    assert not app.entered.is_set()


async def test_fields_of_newer_clients_are_passed_over(connect: Connect) -> None:
    newer = ask().SerializeToString() + b"\xf8\x7f\x01" * 300
    method: Any = (await connect()).channel.unary_unary(UNARY, response_deserializer=Ask.FromString)
    assert (await method(newer)).what == "ayse"


@pytest.mark.parametrize("method", [UNARY, HEALTH])
@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
async def test_a_compressed_call_is_refused_whoever_makes_it(
    connect: Connect, app: EchoApp, method: str, compression: grpc.Compression
) -> None:
    call: Any = (await connect()).channel.unary_unary(method)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call(ask("x" * 400).SerializeToString(), compression=compression)
    assert refused.value.code() is Code.UNIMPLEMENTED
    assert not app.entered.is_set()


def raw_answer(address: str, said: bytes) -> bytes:
    """What the server says to these frames, up to the end of the call."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(http2.hello() + said)
        heard = b""
        while chunk := connection.recv(65_536):
            heard += chunk
            for kind, flags, _, content in http2.frames(heard):
                if kind == http2.HEADERS and flags & http2.END_STREAM:
                    return content
    raise AssertionError(f"the call was not ended: {heard!r}")


def status_in(trailers: bytes) -> int:
    """gRPC's status, which its core writes as plain text."""
    after = trailers.partition(b"grpc-status")[2]
    return int(after[1 : 1 + after[0]])


@pytest.mark.parametrize(
    ("encoding", "status"),
    [
        ((("grpc-encoding", "gzip"),), Code.UNIMPLEMENTED),
        ((("grpc-encoding", "deflate"),), Code.UNIMPLEMENTED),
        ((("grpc-encoding", "identity"),), Code.RESOURCE_EXHAUSTED),
        ((), Code.RESOURCE_EXHAUSTED),
    ],
)
async def test_a_bomb_is_not_inflated(
    server: ServiceServer, encoding: tuple[tuple[str, str], ...], status: grpc.StatusCode
) -> None:
    """Flagged as compressed without an encoding it is a message of its own size."""
    bomb = zlib.compress(bytes(10 << 20), 9)
    said = http2.headers(1, HEALTH, encoding) + http2.message(1, bomb, is_compressed=True)
    trailers = await asyncio.to_thread(raw_answer, server.address, said)
    assert status_in(trailers) == status.value[0]


async def test_a_small_message_flagged_as_compressed_without_an_encoding_is_refused(
    server: ServiceServer,
) -> None:
    said = http2.headers(1, HEALTH) + http2.message(1, zlib.compress(b"x"), is_compressed=True)
    trailers = await asyncio.to_thread(raw_answer, server.address, said)
    assert status_in(trailers) != Code.OK.value[0]


async def test_clients_of_ours_do_not_compress(issuer: Issuer, settings: ServiceSettings) -> None:
    """Whatever they may be told to accept: what they send is read by a server that takes none."""
    async with serving(settings, issuer, issuer.token("ayse")) as caller:
        assert await caller.call(UNARY, ask("x" * 400)) == ["ayse"]
