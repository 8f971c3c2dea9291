"""Too much to do: what is new waits, with a time to come back."""

from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from okey_runtime.errors import to_status
from services.engine.shedding import Limits, Overloaded, Shedding


@dataclass
class Load:
    """A loop and a queue as the test says."""

    lag_ms: int = 0
    waiting: int = 0


LIMITS = Limits(lag_ms=500, rows=100, streams=2)


@pytest.mark.parametrize("load", [Load(), Load(500, 100)])
def test_within_the_limits_nothing_is_refused(load: Load) -> None:
    Shedding(LIMITS, load, load).refuse_if_busy()


@pytest.mark.parametrize("load", [Load(lag_ms=501), Load(waiting=101)])
def test_what_can_wait_is_refused_and_told_when_to_come_back(load: Load) -> None:
    with pytest.raises(Overloaded) as refusal:
        Shedding(LIMITS, load, load).refuse_if_busy()
    status = to_status(refusal.value)
    assert status is not None
    assert any("RetryInfo" in detail.type_url for detail in status.details)
    load.lag_ms = load.waiting = 0
    Shedding(LIMITS, load, load).refuse_if_busy()


def test_streams_have_a_bound_and_make_room_when_they_end() -> None:
    load = Load(9_999, 9_999)
    shedding = Shedding(LIMITS, load, load)
    with ExitStack() as streams:
        for _ in range(2):
            streams.enter_context(shedding.stream())
        with pytest.raises(Overloaded, match="2 streams"):
            streams.enter_context(shedding.stream())
    with shedding.stream(), shedding.stream():
        pass
