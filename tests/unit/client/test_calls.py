"""How the client calls: sent again unchanged while nobody answers, with jitter, not for ever."""

from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc.aio import AioRpcError, Metadata

from okey_client.calls import Calls, RetryPolicy, new_request_id
from okey_runtime.errors import DOMAIN, STATUS_DETAILS_KEY, RpcFailure

POLICY = RetryPolicy(tries=4, first_pause_ms=100, last_pause_ms=300, deadline_ms=5_000)


class JumpingClock:
    """Does not wait: notes for how long, and jumps there."""

    def __init__(self) -> None:
        self.pauses_ms: list[int] = []
        self._now_ms = 0

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_ms(self) -> int:
        return self._now_ms

    async def sleep_until_ms(self, monotonic_ms: int) -> None:
        self.pauses_ms.append(monotonic_ms - self._now_ms)
        self._now_ms = monotonic_ms


class Method:
    """Answers with each outcome in turn, the last one again and again."""

    def __init__(self, *outcomes: str | AioRpcError) -> None:
        self._outcomes = list(outcomes)
        self.requests: list[str] = []
        self.timeouts_s: list[float | None] = []

    def __call__(self, request: str, /, *, timeout: float | None = None) -> Awaitable[str]:
        self.requests.append(request)
        self.timeouts_s.append(timeout)
        return self._answer()

    async def _answer(self) -> str:
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, AioRpcError):
            raise outcome
        return outcome


def error(code: grpc.StatusCode, reason: str = "", **metadata: str) -> AioRpcError:
    status = status_pb2.Status(code=code.value[0], message="why")
    if reason:
        info = error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata=metadata)
        status.details.add().Pack(info)
    trailing = Metadata((STATUS_DETAILS_KEY, status.SerializeToString()))
    return AioRpcError(code, Metadata(), trailing, details="why")


AWAY = error(grpc.StatusCode.UNAVAILABLE, "DATABASE_UNAVAILABLE")


async def test_the_same_request_is_sent_again_until_somebody_answers() -> None:
    method, clock = Method(AWAY, error(grpc.StatusCode.DEADLINE_EXCEEDED), "done"), JumpingClock()
    assert await Calls(clock, POLICY).unary(method, "request") == "done"
    assert method.requests == ["request"] * 3
    assert method.timeouts_s == [5.0] * 3


async def test_the_next_try_goes_to_the_engine_that_a_refusal_names() -> None:
    """And back where that one is no help: a stale route heals in one retry."""
    moved = error(grpc.StatusCode.UNAVAILABLE, "NOT_OWNER", address="there:1")
    home, there = Method(moved, "home"), Method(AWAY, "there")
    asked: list[str] = []

    def at(address: str) -> Method:
        asked.append(address)
        return there

    calls = Calls(JumpingClock(), POLICY)
    assert await calls.unary(home, "request", at) == "home"
    assert await calls.unary(Method(moved), "request", lambda _: Method("there")) == "there"
    assert asked == ["there:1"]
    assert home.requests == ["request"] * 2
    assert there.requests == ["request"]


@pytest.mark.parametrize("reason", ["TABLE_BUSY", "ENGINE_BUSY", "STREAM_NOT_READ"])
async def test_who_is_busy_is_asked_again(reason: str) -> None:
    busy = error(grpc.StatusCode.RESOURCE_EXHAUSTED, reason)
    assert await Calls(JumpingClock(), POLICY).unary(Method(busy, "done"), "request") == "done"


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.RESOURCE_EXHAUSTED]
)
async def test_a_refusal_is_final_and_names_its_reason(code: grpc.StatusCode) -> None:
    method = Method(error(code, "ALREADY_SEATED", table_id="t"))
    with pytest.raises(RpcFailure) as caught:
        await Calls(JumpingClock(), POLICY).unary(method, "request")
    assert (caught.value.code, caught.value.reason) == (code, "ALREADY_SEATED")
    assert caught.value.metadata == {"table_id": "t"}
    assert len(method.requests) == 1


async def test_tries_are_bounded() -> None:
    method = Method(AWAY)
    with pytest.raises(RpcFailure, match="DATABASE_UNAVAILABLE"):
        await Calls(JumpingClock(), POLICY).unary(method, "request")
    assert len(method.requests) == POLICY.tries


@pytest.mark.parametrize(("chance", "expected"), [(1.0, [100, 200, 300]), (0.0, [50, 100, 150])])
async def test_pauses_grow_to_a_bound_and_have_jitter(chance: float, expected: list[int]) -> None:
    clock = JumpingClock()
    with pytest.raises(RpcFailure):
        await Calls(clock, POLICY, chance=lambda: chance).unary(Method(AWAY), "request")
    assert clock.pauses_ms == expected


async def test_by_default_a_client_outlives_a_take_over() -> None:
    """Six seconds of a dead engine's lease, and three until others serve its tables."""
    clock, unlucky = JumpingClock(), 0.0
    with pytest.raises(RpcFailure):
        await Calls(clock, RetryPolicy(), chance=lambda: unlucky).unary(Method(AWAY), "request")
    assert sum(clock.pauses_ms) >= 9_000


def test_request_ids_never_repeat_and_have_the_form_that_all_services_take() -> None:
    ids = {new_request_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(len(each) == 24 and each.isalnum() for each in ids)


class Streams:
    """Opens a stream with each outcome in turn: its messages, and the error that breaks it."""

    def __init__(self, *outcomes: tuple[str, AioRpcError | None]) -> None:
        self._outcomes = list(outcomes)
        self.cancelled = 0

    def __call__(self) -> "OneStream":
        return OneStream(self, *self._outcomes.pop(0))


class OneStream:
    def __init__(self, streams: Streams, messages: str, broken: AioRpcError | None) -> None:
        self._streams = streams
        self._messages = messages
        self._broken = broken

    async def __aiter__(self) -> AsyncGenerator[str, None]:
        for message in self._messages:
            yield message
        if self._broken is not None:
            raise self._broken

    def cancel(self) -> bool:
        self._streams.cancelled += 1
        return True


async def test_a_stream_that_breaks_or_ends_is_opened_again() -> None:
    streams = Streams(
        ("ab", error(grpc.StatusCode.UNAVAILABLE)),
        ("c", None),
        ("d", error(grpc.StatusCode.UNAVAILABLE)),
    )
    clock = JumpingClock()
    got = ""
    async with aclosing(Calls(clock, POLICY, lambda: 1.0).messages(streams)) as messages:
        async for message in messages:
            got += message
            if message == "d":
                break
    assert (got, streams.cancelled) == ("abcd", 3)
    assert clock.pauses_ms == [100, 100]


async def test_streams_that_bring_nothing_are_given_up() -> None:
    streams = Streams(*[("", error(grpc.StatusCode.UNAVAILABLE))] * POLICY.tries)
    clock = JumpingClock()
    with pytest.raises(RpcFailure):
        await anext(Calls(clock, POLICY, lambda: 1.0).messages(streams))
    assert clock.pauses_ms == [100, 200, 300]


async def test_a_stream_that_is_refused_is_not_opened_again() -> None:
    refused = error(grpc.StatusCode.NOT_FOUND, "TICKET_NOT_FOUND")
    with pytest.raises(RpcFailure) as caught:
        await anext(Calls(JumpingClock(), POLICY).messages(Streams(("", refused))))
    assert caught.value.reason == "TICKET_NOT_FOUND"
