"""What one player, and all callers together, may ask of a service."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from structlog.testing import capture_logs

from okey_runtime.channel import open_channel
from okey_runtime.clock import VirtualClock
from okey_runtime.config import Reflection, ServiceSettings
from okey_runtime.errors import STATUS_DETAILS_KEY, RpcFailure
from okey_runtime.identity import Identity, Role
from okey_runtime.limits import (
    Buckets,
    BudgetSpent,
    CallLimits,
    Gate,
    RateLimited,
    TooManyStreams,
)
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import fixed_token
from tests.unit.runtime.caller import Caller
from tests.unit.runtime.echo import BIDI, SERVER_STREAM, UNARY, WRITER, EchoApp, ask
from tests.unit.runtime.tokens import Issuer

Serve = Callable[..., Any]


@dataclass
class Stand:
    """An echo service, and callers of it."""

    app: EchoApp
    address: str
    issuer: Issuer
    stack: AsyncExitStack

    async def __call__(self, subject: str, *roles: Role) -> Caller:
        token = fixed_token(self.issuer.token(subject, roles or (Role.PLAYER,)))
        channel = open_channel(self.address, token=token)
        return Caller(await self.stack.enter_async_context(channel))


@pytest.fixture
async def serve(settings: ServiceSettings, issuer: Issuer) -> AsyncIterator[Serve]:
    """Starts the echo service with these limits; gives a way to call it as somebody."""
    async with AsyncExitStack() as stack:

        async def start(**changes: Any) -> Stand:
            app = EchoApp(settings.model_copy(update=changes))
            server = await stack.enter_async_context(ServiceServer(app, issuer.clock))
            return Stand(app, server.address, issuer, stack)

        yield start


def player(subject: str) -> Identity:
    return Identity(subject, frozenset({Role.PLAYER}), "", 0)


def test_a_bucket_is_full_at_first_and_fills_with_time() -> None:
    clock = VirtualClock()
    buckets = Buckets(per_s=2, burst=3, clock=clock)
    assert [buckets.take("ayse", "/a/B") for _ in range(4)] == [0, 0, 0, 501]
    clock.advance_ms(500)
    assert [buckets.take("ayse", "/a/B") for _ in range(2)] == [0, 501]
    clock.advance_ms(3_600_000)
    assert [buckets.take("ayse", "/a/B") for _ in range(4)] == [0, 0, 0, 501]


def test_players_and_methods_have_buckets_of_their_own() -> None:
    buckets = Buckets(per_s=1, burst=1, clock=VirtualClock())
    taken = [buckets.take(who, what) for who in ("ayse", "fatma") for what in ("/a/B", "/a/C")]
    assert taken == [0, 0, 0, 0]


def test_asking_too_often_costs_nothing_more() -> None:
    clock = VirtualClock()
    buckets = Buckets(per_s=1, burst=1, clock=clock)
    buckets.take("ayse", "/a/B")
    assert all(buckets.take("ayse", "/a/B") for _ in range(100))
    clock.advance_ms(1_000)
    assert buckets.take("ayse", "/a/B") == 0


def test_what_costs_more_takes_more() -> None:
    clock = VirtualClock()
    buckets = Buckets(per_s=10, burst=10, clock=clock)
    assert [buckets.take("ayse", "", 4) for _ in range(3)] == [0, 0, 201]
    assert buckets.take("ayse", "", 2) == 0
    clock.advance_ms(1_000)
    assert buckets.take("ayse", "", 99) == 0, "what costs more than a full bucket takes all of it"
    assert buckets.take("ayse", "", 1) > 0


def integrator(subject: str) -> Identity:
    return Identity(subject, frozenset({Role.INTEGRATOR}), "", 0)


def gate_of(**limits: int) -> Gate:
    usual = {"per_s": 99, "burst": 99, "streams": 1, "calls": 9, "call_ms": 9}
    return Gate(CallLimits(**{**usual, **limits}), VirtualClock())


@pytest.mark.parametrize("caller", [player("ayse"), integrator("team")])
def test_all_calls_of_a_caller_are_paid_from_one_budget(caller: Identity) -> None:
    gate = gate_of(cost_per_s=1, cost_burst=25)
    gate.refuse_if_too_often(caller, "/a/Dear", 20)
    gate.refuse_if_too_often(caller, "/a/Cheap", 5)
    with pytest.raises(BudgetSpent, match="/a/Cheap costs 5") as refused:
        gate.refuse_if_too_often(caller, "/a/Cheap", 5)
    assert refused.value.retry_after_ms == 5_001
    gate.refuse_if_too_often(player("fatma"), "/a/Dear", 20)


def test_no_player_can_spend_an_integrators_budget() -> None:
    gate = gate_of(cost_per_s=1, cost_burst=1)
    for one in (integrator("team"), player("team"), player("integrator:team")):
        gate.refuse_if_too_often(one, "/a/B")


@pytest.mark.parametrize("role", [Role.ENGINE, Role.OPERATOR])
def test_services_and_operators_have_no_budget(role: Role) -> None:
    gate = gate_of(cost_per_s=1, cost_burst=1)
    ours = Identity("ours", frozenset({role}), "", 0)
    for _ in range(3):
        gate.refuse_if_too_often(ours, "/a/Dear", 20)


def test_an_integrators_streams_are_bounded() -> None:
    gate, team = gate_of(), integrator("team")
    with ExitStack() as stack:
        for _ in range(1_000):
            stack.enter_context(gate.stream(team))
        with pytest.raises(TooManyStreams, match="1000 streams"):
            stack.enter_context(gate.stream(team))


async def test_who_calls_too_often_is_told_when_to_come_back(serve: Serve) -> None:
    call_as = await serve(calls_per_s=1, calls_burst=2)
    ayse = await call_as("ayse")
    await ayse.call(UNARY, ask())
    await ayse.call(UNARY, ask())
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await ayse.begin(UNARY, ask())
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    metadata = dict(refused.value.trailing_metadata() or ())
    status = status_pb2.Status.FromString(metadata[STATUS_DETAILS_KEY])
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    assert status.details[1].Unpack(retry)
    assert info.reason == "RATE_LIMITED"
    assert retry.retry_delay.ToMilliseconds() == 1_001
    # Neither another of its RPCs, nor anybody else, pays for it.
    await ayse.call(SERVER_STREAM, ask())
    await (await call_as("fatma")).call(UNARY, ask())


async def test_services_are_not_counted(serve: Serve) -> None:
    engine = await (await serve(calls_per_s=1, calls_burst=1))("engine", Role.ENGINE)
    for _ in range(5):
        await engine.call(UNARY, ask())


@pytest.mark.parametrize("method", [SERVER_STREAM, WRITER])
async def test_a_player_has_so_many_streams_and_a_new_one_once_one_has_ended(
    serve: Serve, method: str
) -> None:
    call_as = await serve(streams_per_player=2)
    ayse = await call_as("ayse")
    streams = [ayse.begin(method, ask("wait")) for _ in range(2)]
    for stream in streams:
        await stream.read()
    assert (await ayse.failure(method, ask())).reason == "TOO_MANY_STREAMS"
    await (await call_as("fatma")).call(method, ask())
    streams[0].cancel()
    reasons = [""]
    while reasons[-1] == "TOO_MANY_STREAMS" or len(reasons) == 1:  # until the server knows of it
        reasons.append(await _refusal(ayse, method))
    assert reasons[-1] == ""
    streams[1].cancel()


async def _refusal(caller: Caller, method: str) -> str:
    """Why the call is refused, "" if it is answered."""
    try:
        await caller.call(method, ask())
    except RpcFailure as refused:
        return refused.reason
    return ""


async def test_a_players_messages_of_a_stream_are_read_no_faster_than_it_may_send(
    serve: Serve, issuer: Issuer
) -> None:
    ayse = await (await serve(calls_per_s=1, calls_burst=3))("ayse")
    stream = ayse.begin(BIDI, *(ask() for _ in range(4)))
    answers = [(await stream.read()).what for _ in range(3)]
    fourth = asyncio.ensure_future(stream.read())
    await (await serve())("fatma")  # takes a while
    assert not fourth.done()
    issuer.clock.advance_ms(1_001)
    assert [*answers, (await fourth).what] == ["ayse"] * 4


@pytest.mark.parametrize("caller", [player("ayse"), integrator("team"), None])
async def test_messages_of_a_stream_are_paced_whoever_sends_them(caller: Identity | None) -> None:
    clock = VirtualClock()
    gate = Gate(CallLimits(per_s=1, burst=2, streams=1, calls=1, call_ms=1), clock)
    for _ in range(2):
        await gate.pace(caller, "/a/B", "10.0.0.1")
    third = asyncio.ensure_future(gate.pace(caller, "/a/B", "10.0.0.1"))
    await gate.pace(player("fatma"), "/a/B")
    await gate.pace(None, "/a/B", "10.0.0.2")
    await asyncio.sleep(0)
    assert not third.done()
    clock.advance_ms(1_001)
    await third


async def test_messages_of_services_are_not_paced() -> None:
    gate = gate_of(per_s=1, burst=1)
    for _ in range(3):
        await gate.pace(Identity("engine", frozenset({Role.ENGINE}), "", 0), "/a/B")


async def test_questions_of_reflection_are_paced_where_nobody_needs_a_token(
    serve: Serve, issuer: Issuer
) -> None:
    stand = await serve(calls_per_s=1, calls_burst=2, reflection=Reflection.OPEN)
    async with open_channel(stand.address) as channel:
        untyped: Any = channel
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(untyped)
        question = reflection_pb2.ServerReflectionRequest(list_services="")
        stream = stub.ServerReflectionInfo(iter([question] * 3))
        for _ in range(2):
            assert (await stream.read()).HasField("list_services_response")
        third = asyncio.ensure_future(stream.read())
        health: Any = health_pb2_grpc.HealthStub(channel)
        for _ in range(20):  # the third question was sent before these
            await health.Check(health_pb2.HealthCheckRequest())
        assert not third.done()
        issuer.clock.advance_ms(1_001)
        assert (await third).HasField("list_services_response")


async def test_a_call_may_take_only_so_long_whatever_its_deadline(serve: Serve) -> None:
    ayse = await (await serve(max_call_ms=20))("ayse")
    failure = await ayse.failure(UNARY, ask("wait"), timeout_s=None)
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.DEADLINE_EXCEEDED,
        "CALL_TOO_LONG",
    )


async def test_more_calls_than_the_service_takes_are_refused_at_once(serve: Serve) -> None:
    call_as = await serve(most_calls=1)
    ayse = await call_as("ayse")
    first = ayse.begin(UNARY, ask("wait"))
    await call_as.app.entered.wait()
    assert (await ayse.failure(UNARY, ask())).reason == "SERVICE_BUSY"
    await ayse.call(SERVER_STREAM, ask())
    call_as.app.draining.set()
    assert (await first).what == "ayse"
    await ayse.call(UNARY, ask())


async def test_streams_without_a_caller_are_bounded_by_address(server: ServiceServer) -> None:
    async with open_channel(server.address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        watches = [stub.Watch(health_pb2.HealthCheckRequest()) for _ in range(32)]
        for watch in watches:
            await watch.read()
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.Watch(health_pb2.HealthCheckRequest()).read()
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        for watch in watches:
            watch.cancel()


def test_what_is_counted_is_given_back_whatever_happens() -> None:
    limits = CallLimits(per_s=1, burst=1, streams=1, calls=1, call_ms=1)
    gate = Gate(limits, VirtualClock())
    for _ in range(3):
        with pytest.raises(KeyError), gate.stream(player("ayse")), gate.call:
            raise KeyError
    with gate.stream(player("ayse")), pytest.raises(TooManyStreams):
        gate.stream(player("ayse")).__enter__()


async def test_metadata_beyond_the_limit_is_refused(serve: Serve) -> None:
    ayse = await (await serve())("ayse")
    method = ayse.channel.unary_unary(UNARY)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await method(ask().SerializeToString(), metadata=(("x-long", "x" * (17 << 10)),))
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_streams_without_a_caller_are_bounded_together() -> None:
    gate = Gate(CallLimits(per_s=1, burst=1, streams=1, calls=1, call_ms=1), VirtualClock())
    with ExitStack() as open_streams:
        for number in range(256):
            open_streams.enter_context(gate.stream(None, f"10.0.0.{number % 16}"))
        with pytest.raises(TooManyStreams):
            gate.stream(None, "10.0.0.99").__enter__()
    with gate.stream(None, "10.0.0.99"):
        pass


def test_that_players_are_limited_is_one_line_whoever_they_are() -> None:
    gate = Gate(CallLimits(per_s=1, burst=1, streams=1, calls=1, call_ms=1), VirtualClock())
    with capture_logs() as lines:
        for who in ("ayse", "fatma"):
            for _ in range(4):
                with suppress(RateLimited):
                    gate.refuse_if_too_often(player(who), "/a/B")
    assert [line["player_id"] for line in lines if line["event"] == "player_limited"] == ["ayse"]
