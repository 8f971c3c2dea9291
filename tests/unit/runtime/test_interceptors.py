import asyncio
from typing import Any

import grpc
import pytest
import structlog

from okey_runtime.auth import Role
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.revocation import Revocation
from okey_runtime.server import ServiceServer
from okey_runtime.trace import adopt_trace
from tests.metrics import sample
from tests.unit.runtime.caller import KINDS, Caller
from tests.unit.runtime.conftest import Connect
from tests.unit.runtime.echo import (
    BIDI,
    CLIENT_STREAM,
    LENIENT,
    SERVER_STREAM,
    UNARY,
    UNLISTED,
    UNSERVED,
    WRITER,
    Ask,
    EchoApp,
    ask,
)
from tests.unit.runtime.tokens import Issuer

Code = grpc.StatusCode


def handled(method: str, code: str) -> float:
    _, service, name = method.split("/")
    kind = {"Unary": "unary", "Bidi": "bidi_stream", "ClientStream": "client_stream"}
    labels = {
        "grpc_type": kind.get(name, "server_stream"),
        "grpc_service": service,
        "grpc_method": name,
        "grpc_code": code,
    }
    return sample("grpc_server_handled_total", **labels)


@pytest.mark.parametrize("method", KINDS)
async def test_the_handler_learns_who_calls(connect: Connect, method: str) -> None:
    answers = await (await connect()).call(method, ask())
    assert answers[0] == "ayse"


@pytest.mark.parametrize("method", KINDS)
async def test_without_a_token_the_call_is_refused(connect: Connect, method: str) -> None:
    failure = await (await connect(None)).refusal(method)
    assert (failure.code, failure.reason) == (Code.UNAUTHENTICATED, "TOKEN_MISSING")


@pytest.mark.parametrize("method", KINDS)
async def test_with_a_wrong_token_the_call_is_refused(
    connect: Connect, issuer: Issuer, method: str
) -> None:
    failure = await (await connect(issuer.token(audience="other"))).refusal(method)
    assert (failure.code, failure.reason) == (Code.UNAUTHENTICATED, "WRONG_AUDIENCE")


@pytest.mark.parametrize("method", KINDS)
async def test_with_an_expired_token_the_call_is_refused(
    connect: Connect, issuer: Issuer, method: str
) -> None:
    caller = await connect(issuer.token(ttl_ms=1_000))
    issuer.clock.advance_ms(60_000)
    failure = await caller.refusal(method)
    assert (failure.code, failure.reason) == (Code.UNAUTHENTICATED, "TOKEN_EXPIRED")


@pytest.mark.parametrize("method", KINDS)
async def test_with_another_role_the_call_is_refused(
    connect: Connect, issuer: Issuer, app: EchoApp, method: str
) -> None:
    caller = await connect(issuer.token(roles=set(Role) - {Role.PLAYER, Role.ENGINE}))
    failure = await caller.refusal(method)
    assert (failure.code, failure.reason) == (Code.PERMISSION_DENIED, "ROLE_REFUSED")
    assert not app.entered.is_set()


async def test_a_method_that_no_table_lists_is_refused_to_every_role(
    connect: Connect, issuer: Issuer
) -> None:
    failure = await (await connect(issuer.token(roles=Role))).failure(UNLISTED, ask())
    assert (failure.code, failure.reason) == (Code.PERMISSION_DENIED, "ROLE_REFUSED")


async def test_a_method_that_is_not_served_is_unimplemented(connect: Connect) -> None:
    caller = await connect()
    assert (await caller.failure(UNSERVED, ask())).code is Code.UNIMPLEMENTED


@pytest.mark.parametrize("method", KINDS)
async def test_a_malformed_request_names_field_and_value(
    connect: Connect, app: EchoApp, method: str
) -> None:
    failure = await (await connect()).failure(method, ask(stake=7))
    assert (failure.code, failure.reason) == (Code.INVALID_ARGUMENT, "INVALID_FIELD")
    assert failure.message == "stake: 7 must be greater than or equal to 50"
    assert not app.entered.is_set()


@pytest.mark.parametrize("method", [CLIENT_STREAM, BIDI])
async def test_every_message_of_a_stream_is_checked(connect: Connect, method: str) -> None:
    failure = await (await connect()).failure(method, ask(), ask(), ask(stake=7))
    assert failure.reason == "INVALID_FIELD"


def begin_raw(caller: Caller, method: str, *contents: bytes) -> Any:
    """The call with these bytes as its messages."""
    kinds: dict[str, Any] = {
        UNARY: caller.channel.unary_unary,
        CLIENT_STREAM: caller.channel.stream_unary,
        BIDI: caller.channel.stream_stream,
    }
    make = kinds.get(method, caller.channel.unary_stream)
    takes_stream = method in (CLIENT_STREAM, BIDI)
    return make(method)(iter(contents) if takes_stream else contents[0], timeout=10)


async def raw_failure(caller: Caller, method: str, *contents: bytes) -> RpcFailure:
    call = begin_raw(caller, method, *contents)
    try:
        answers = [await call] if method in (UNARY, CLIENT_STREAM) else [x async for x in call]
    except grpc.aio.AioRpcError as error:
        return from_rpc_error(error)
    raise AssertionError(f"{method} did not fail but answered {answers}")


NO_PROTOBUF = b"\xff\xff\xff"


@pytest.mark.parametrize("method", KINDS)
async def test_bytes_that_are_no_message_are_refused_with_a_reason(
    connect: Connect, app: EchoApp, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    caller = await connect()
    before = handled(method, "INVALID_ARGUMENT")
    failure = await raw_failure(caller, method, NO_PROTOBUF)
    assert (failure.code, failure.reason) == (Code.INVALID_ARGUMENT, "MALFORMED_REQUEST")
    assert "3 bytes" in failure.message
    assert not app.entered.is_set()
    assert handled(method, "INVALID_ARGUMENT") == before + 1
    assert caplog.records == []


@pytest.mark.parametrize("method", [CLIENT_STREAM, BIDI])
async def test_unreadable_bytes_later_in_a_stream_end_it_too(connect: Connect, method: str) -> None:
    good = ask().SerializeToString()
    failure = await raw_failure(await connect(), method, good, good, NO_PROTOBUF)
    assert failure.reason == "MALFORMED_REQUEST"


async def test_who_may_not_call_is_told_so_and_not_about_its_bytes(connect: Connect) -> None:
    assert (await raw_failure(await connect(None), UNARY, NO_PROTOBUF)).reason == "TOKEN_MISSING"


@pytest.mark.parametrize("method", KINDS)
async def test_a_named_error_tells_its_reason(connect: Connect, method: str) -> None:
    failure = await (await connect()).failure(method, ask("refuse"))
    assert (failure.code, failure.reason) == (Code.FAILED_PRECONDITION, "REFUSED")
    assert failure.message == "the rule says no: ask for something else"


@pytest.mark.parametrize("method", KINDS)
async def test_an_unexpected_error_tells_an_id_that_stands_in_the_log(
    connect: Connect, method: str
) -> None:
    caller = await connect()
    with structlog.testing.capture_logs() as logged:
        failure = await caller.failure(method, ask("break"))
    assert failure.code is Code.INTERNAL
    assert "hidden text" not in failure.message
    (line,) = (line for line in logged if line["event"] == "unexpected_error")
    assert line["error_id"] == failure.metadata["error_id"]
    assert repr(line["exc_info"]) == "RuntimeError('hidden text')"


@pytest.mark.parametrize("method", KINDS)
async def test_a_cancellation_of_something_else_does_not_leave_the_client_waiting(
    connect: Connect, method: str
) -> None:
    failure = await (await connect()).failure(method, ask("cancel"), timeout_s=5)
    assert failure.code is Code.INTERNAL


@pytest.mark.parametrize("method", KINDS)
async def test_a_handlers_own_abort_stands(connect: Connect, method: str) -> None:
    failure = await (await connect()).failure(method, ask("abort"))
    assert (failure.code, failure.message) == (Code.ABORTED, "own words")


@pytest.mark.parametrize("method", KINDS)
async def test_a_client_that_goes_cancels_its_call(
    connect: Connect, app: EchoApp, server: ServiceServer, method: str
) -> None:
    before = handled(method, "CANCELLED")
    call = (await connect()).begin(method, ask("wait"), timeout_s=None)
    reading = asyncio.ensure_future(call.read()) if hasattr(call, "read") else None
    await app.entered.wait()
    call.cancel()
    await server.grpc.stop(5)
    assert app.log[-1] == "cancelled"
    assert handled(method, "CANCELLED") == before + 1
    if reading is not None:
        await asyncio.gather(reading, return_exceptions=True)


@pytest.mark.parametrize("method", KINDS)
async def test_a_deadline_cancels_the_call(connect: Connect, app: EchoApp, method: str) -> None:
    failure = await (await connect()).failure(method, ask("wait"), timeout_s=0.2)
    assert failure.code is Code.DEADLINE_EXCEEDED


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("echo", "OK"),
        ("refuse", "FAILED_PRECONDITION"),
        ("break", "INTERNAL"),
        ("abort", "ABORTED"),
    ],
)
@pytest.mark.parametrize("method", KINDS)
async def test_calls_are_counted_by_code(
    connect: Connect, server: ServiceServer, method: str, what: str, code: str
) -> None:
    caller = await connect()
    before = handled(method, code)
    await asyncio.gather(caller.call(method, ask(what)), return_exceptions=True)
    # A handler's own abort has gone out before it is counted.
    await server.grpc.stop(5)
    assert handled(method, code) == before + 1


async def test_ids_of_one_call_do_not_reach_the_next(connect: Connect, issuer: Issuer) -> None:
    first, second = await connect(), await connect(issuer.token("mehmet"))
    answers = await asyncio.gather(*(caller.call(UNARY, ask()) for caller in [first, second] * 20))
    assert answers == [["ayse"], ["mehmet"]] * 20


async def test_the_log_tells_method_caller_and_trace(connect: Connect) -> None:
    caller = await connect()
    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as logged:
        await caller.failure(UNARY, ask("break"))
    (line,) = (line for line in logged if line["event"] == "unexpected_error")
    assert (line["method"], line["player_id"]) == (UNARY, "ayse")
    assert len(line["trace_id"]) == 32


async def test_a_trace_goes_with_the_call(connect: Connect) -> None:
    caller = await connect()
    trace_id = adopt_trace([])
    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as logged:
        await caller.failure(UNARY, ask("break"))
    assert [line["trace_id"] for line in logged] == [trace_id]


async def test_a_method_may_answer_malformed_stream_messages_itself(connect: Connect) -> None:
    """It is told what is wrong with each, and the stream goes on; its answers may be bytes."""
    method: Any = (await connect()).channel.stream_stream(
        LENIENT, response_deserializer=Ask.FromString
    )
    messages = [ask(stake=7).SerializeToString(), NO_PROTOBUF, ask("good").SerializeToString()]
    answers = [answer.what async for answer in method(iter(messages))]
    assert answers == ["INVALID_FIELD", "MALFORMED_REQUEST", "good"]


@pytest.mark.parametrize("method", [SERVER_STREAM, WRITER])
async def test_a_stream_ends_when_its_callers_token_is_revoked(
    connect: Connect, server: ServiceServer, app: EchoApp, method: str
) -> None:
    stream = (await connect()).begin(method, ask("wait"))
    assert (await stream.read()).what == "ayse"
    await app.entered.wait()
    now_ms = server.clock.now_ms()
    server.revocations.take([Revocation(now_ms + 3_600_000, "ayse", now_ms + 1_000)])
    with pytest.raises(grpc.aio.AioRpcError) as ended:
        await stream.read()
    assert from_rpc_error(ended.value).reason == "TOKEN_REVOKED"
