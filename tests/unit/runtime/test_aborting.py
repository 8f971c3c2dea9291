"""A call that is refused leaves nothing behind, also while the collector does not look."""

import gc
from collections.abc import Iterator

import pytest

from tests.unit.runtime.caller import KINDS, ask
from tests.unit.runtime.conftest import Connect

CALLS = 40
ON_THEIR_WAY = 10
"""The client knows of the end before the server is done with it."""


@pytest.fixture
def uncollected() -> Iterator[None]:
    """As between two looks of the collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def contexts() -> int:
    """How many calls gRPC keeps, of this process's servers."""
    return sum(type(each).__name__ == "_ServicerContext" for each in gc.get_objects())


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("what", ["refuse", "break", "cancel"])
@pytest.mark.parametrize("method", KINDS)
async def test_a_refused_call_is_forgotten(connect: Connect, method: str, what: str) -> None:
    """Else gRPC would count it as open, and refuse others on the connection before long."""
    caller, before = await connect(), contexts()
    for _ in range(CALLS):
        await caller.failure(method, ask(what))
    assert contexts() - before <= ON_THEIR_WAY


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("method", KINDS)
async def test_a_call_of_nobody_is_forgotten(connect: Connect, method: str) -> None:
    caller, before = await connect("no.to.ken"), contexts()
    for _ in range(CALLS):
        assert (await caller.refusal(method)).reason == "TOKEN_INVALID"
    assert contexts() - before <= ON_THEIR_WAY
