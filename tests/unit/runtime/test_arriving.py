"""Calls that never send their message end by themselves, and only so many of them wait."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from okey_runtime.arriving import Arrivals, RequestNotSent
from okey_runtime.channel import open_channel
from okey_runtime.config import ServiceSettings
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import fixed_token
from tests.streams import cancelling
from tests.unit.runtime.caller import KINDS, Caller
from tests.unit.runtime.echo import BIDI, CLIENT_STREAM, UNARY, EchoApp, ask
from tests.unit.runtime.tokens import Issuer


@pytest.fixture
def first_message_ms() -> int:
    """How long the service waits for a message; what is sent comes earlier on a busy machine."""
    return 500


@pytest.fixture
async def hasty(
    settings: ServiceSettings, issuer: Issuer, first_message_ms: int
) -> AsyncIterator[Caller]:
    """A caller of a service that does not wait long for a message."""
    changed = settings.model_copy(update={"first_message_ms": first_message_ms})
    async with (
        ServiceServer(EchoApp(changed), issuer.clock) as server,
        open_channel(server.address, token=fixed_token(issuer.token("ayse"))) as channel,
    ):
        yield Caller(channel)


async def without_message(caller: Caller, method: str, *, ends: bool) -> RpcFailure:
    """How a call fails of which only the headers are sent, and then maybe its end."""
    gives_stream = method not in (UNARY, CLIENT_STREAM)
    make: Any = caller.channel.stream_stream if gives_stream else caller.channel.stream_unary
    call = make(method)(timeout=10)
    try:
        if ends:
            await call.done_writing()
        answer = await (call.read() if gives_stream else call)
    except grpc.aio.AioRpcError as error:
        return from_rpc_error(error)
    raise AssertionError(f"{method} was answered: {answer}")


@pytest.mark.parametrize("method", KINDS)
async def test_a_call_without_its_message_ends_by_itself(hasty: Caller, method: str) -> None:
    failure = await without_message(hasty, method, ends=False)
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "REQUEST_NOT_SENT",
    )
    assert failure.retry_after_ms == 1_000
    await hasty.call(method, ask())


@pytest.mark.parametrize("first_message_ms", [60_000])
@pytest.mark.parametrize(
    "method", [method for method in KINDS if method not in (CLIENT_STREAM, BIDI)]
)
async def test_a_call_that_ends_without_its_message_is_malformed(
    hasty: Caller, method: str
) -> None:
    assert (await without_message(hasty, method, ends=True)).reason == "MALFORMED_REQUEST"


async def test_a_stream_may_be_silent_after_its_first_message(hasty: Caller) -> None:
    answers = []
    with cancelling(hasty.channel.stream_stream(BIDI)()) as stream:
        for _ in range(2):
            await stream.write(ask().SerializeToString())
            answers.append(await stream.read())
            await without_message(hasty, UNARY, ends=False)  # takes longer than it may
    assert answers == [ask("ayse").SerializeToString()] * 2


async def test_of_too_many_that_wait_the_oldest_is_ended() -> None:
    arrivals = Arrivals(within_ms=3_600_000, most=2)
    never = asyncio.Event()
    waiting = [asyncio.create_task(arrivals.of(never.wait())) for _ in range(2)]
    await asyncio.sleep(0)
    third = asyncio.create_task(arrivals.of(never.wait()))
    with pytest.raises(RequestNotSent):
        await waiting[0]
    assert await arrivals.of(_at_once()) == "here"
    with pytest.raises(RequestNotSent):
        await waiting[1]
    never.set()
    assert await third is True


async def test_one_caller_has_a_share_of_the_room() -> None:
    """Beyond it the oldest of its own goes, nobody else's."""
    arrivals = Arrivals(within_ms=3_600_000, most=4, share=2)
    never = asyncio.Event()
    honest = asyncio.create_task(arrivals.of(never.wait(), "fatma"))
    await asyncio.sleep(0)
    greedy = [asyncio.create_task(arrivals.of(never.wait(), "ayse")) for _ in range(6)]
    for each in greedy[:4]:
        with pytest.raises(RequestNotSent):
            await each
    assert not any(each.done() for each in (honest, *greedy[4:]))
    never.set()
    assert [await each for each in (honest, *greedy[4:])] == [True] * 3


async def test_services_share_the_whole_room() -> None:
    arrivals = Arrivals(within_ms=3_600_000, most=10, share=2)
    never = asyncio.Event()
    calls = [asyncio.create_task(arrivals.of(never.wait())) for _ in range(10)]
    await asyncio.sleep(0)
    assert not any(each.done() for each in calls)
    never.set()
    assert await asyncio.gather(*calls) == [True] * 10


async def _at_once() -> str:
    return "here"


async def test_an_error_of_the_message_itself_is_passed_on() -> None:
    async def broken() -> None:
        raise TimeoutError("of something else")

    with pytest.raises(TimeoutError, match="something else"):
        await Arrivals(within_ms=3_600_000).of(broken())
