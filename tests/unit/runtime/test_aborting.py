"""A call that is refused leaves nothing behind, also while the collector does not look; where its
caller has gone meanwhile, nobody is told.
"""

import asyncio
import gc
import logging
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
import structlog

from okey_runtime import aborting, served
from okey_runtime.garbage import Litter
from okey_runtime.server import ServiceServer
from tests.unit.runtime.caller import KINDS, ask
from tests.unit.runtime.conftest import Connect
from tests.unit.runtime.echo import UNARY, WRITER, EchoApp

CALLS = 40
ON_THEIR_WAY = 10
"""The client knows of the end before the server is done with it."""


@pytest.fixture
def uncollected() -> Iterator[None]:
    """As between two looks of the collector; it lists only what was made since."""
    gc.disable()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.enable()


def kept(kind: str) -> int:
    """How many of gRPC's objects of this kind the test has left."""
    return sum(type(each).__name__ == kind for each in gc.get_objects())


def contexts() -> int:
    """How many of the test's calls gRPC keeps."""
    return kept("_ServicerContext")


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("what", ["refuse", "break", "cancel"])
@pytest.mark.parametrize("method", KINDS)
async def test_a_refused_call_is_forgotten(connect: Connect, method: str, what: str) -> None:
    """Else gRPC would count it as open, and refuse others on the connection before long."""
    caller = await connect()
    for _ in range(CALLS):
        await caller.failure(method, ask(what))
    assert contexts() <= ON_THEIR_WAY


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("method", KINDS)
async def test_a_call_of_nobody_is_forgotten(connect: Connect, method: str) -> None:
    caller = await connect("no.to.ken")
    for _ in range(CALLS):
        assert (await caller.refusal(method)).reason == "TOKEN_INVALID"
    assert contexts() <= ON_THEIR_WAY


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("token", ["no.to.ken", None])
async def test_what_strangers_send_along_does_not_pile_up(
    connect: Connect, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "_litter", Litter(7_000 * CALLS // 4))
    caller = await connect(token)
    said = (("x-more", "x" * 7_000),)
    call: Any = caller.channel.unary_unary(UNARY)
    for _ in range(CALLS):
        with pytest.raises(grpc.aio.AioRpcError):
            await call(b"", metadata=said)
    assert kept("_HandlerCallDetails") <= CALLS // 2


@pytest.mark.parametrize(
    ("method", "what"),
    [
        *((method, what) for method in KINDS for what in ("abort late", "refuse late")),
        (WRITER, "write late"),
    ],
)
async def test_a_caller_that_has_gone_is_no_error(
    connect: Connect,
    app: EchoApp,
    server: ServiceServer,
    caplog: pytest.LogCaptureFixture,
    method: str,
    what: str,
) -> None:
    """Its deadline passes, or it goes, while its answer is on the way: that happens every day."""
    with structlog.testing.capture_logs() as logged, caplog.at_level(logging.ERROR):
        call = (await connect()).begin(method, ask(what), timeout_s=None)
        reading = asyncio.ensure_future(call.read() if hasattr(call, "read") else call)
        await app.entered.wait()
        call.cancel()
        await server.grpc.stop(5)
        await asyncio.gather(reading, return_exceptions=True)
    assert app.log[-1] == "gone"
    assert [line for line in logged if line["log_level"] == "error"] == []
    assert [record.getMessage() for record in caplog.records] == []


class Unread:
    """The context of a call whose caller has its connection and takes nothing."""

    def done(self) -> bool:
        return False

    async def abort(self, *_: object) -> None:
        await asyncio.Event().wait()

    async def send_initial_metadata(self, _: object) -> None:
        raise grpc.aio.AbortError("it was aborted")


async def test_a_call_ends_whether_or_not_its_caller_takes_the_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """gRPC has it, and gives it to the caller when that reads again."""
    monkeypatch.setattr(aborting, "_READ_WITHIN_S", 0.01)
    context: Any = Unread()
    with pytest.raises(grpc.aio.AbortError):
        await aborting.abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "not read", ())
