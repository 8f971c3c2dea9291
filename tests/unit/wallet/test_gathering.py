"""The gathering of commands: at once where it is quiet, together where it is busy."""

import asyncio
from collections.abc import Sequence

import pytest

from okey_runtime.database import DatabaseAway, DatabaseBusy
from services.wallet import gathering
from services.wallet.command import VoidMatch
from services.wallet.gathering import Gathering, Request


class Carrier:
    """Tells of the lots that it gets, and answers once it may."""

    def __init__(self) -> None:
        self.lots: asyncio.Queue[str] = asyncio.Queue()
        self.may_answer = asyncio.Event()
        self.error: Exception | None = None

    async def carry(self, requests: Sequence[Request]) -> Sequence[str]:
        self.lots.put_nowait("".join(request.key for request in requests))
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return [f"answer to {request.key}" for request in requests]


def ask(gathering: Gathering[str], keys: str) -> list[asyncio.Task[str]]:
    """Callers."""
    return [
        asyncio.create_task(gathering.ask(Request(key, VoidMatch(match_id=key)))) for key in keys
    ]


async def test_while_one_is_under_way_the_next_gather() -> None:
    """The first goes at once, the others together, and never more than so many."""
    carrier = Carrier()
    gathering = Gathering(carrier.carry, lanes=1, most=3)
    asked = ask(gathering, "a")
    assert await carrier.lots.get() == "a"
    asked += ask(gathering, "bcdef")
    carrier.may_answer.set()
    assert await asyncio.gather(*asked) == [f"answer to {key}" for key in "abcdef"]
    assert [carrier.lots.get_nowait() for _ in range(2)] == ["bcd", "ef"]


async def test_a_lane_that_waits_holds_nobody_up() -> None:
    """With two lanes the second caller is not behind the first."""
    carrier = Carrier()
    gathering = Gathering(carrier.carry, lanes=2, most=3)
    asked: list[asyncio.Task[str]] = []
    for key in "ab":
        asked += ask(gathering, key)
        assert await carrier.lots.get() == key
    asked += ask(gathering, "cd")
    carrier.may_answer.set()
    await asyncio.gather(*asked)
    assert await carrier.lots.get() == "cd"


async def test_who_goes_before_it_is_begun_takes_the_request_back() -> None:
    """What is begun goes on without its caller."""
    carrier = Carrier()
    gathering = Gathering(carrier.carry, lanes=1, most=3)
    [first] = ask(gathering, "a")
    assert await carrier.lots.get() == "a"
    second, third = ask(gathering, "bc")
    await asyncio.sleep(0)
    for caller in (first, second):
        caller.cancel()
    await asyncio.wait([first, second])
    carrier.may_answer.set()
    assert await third == "answer to c"
    assert carrier.lots.get_nowait() == "c"


async def test_an_error_is_everybodys_and_the_next_lot_goes_on() -> None:
    """The database is away for one lot, and back for the next; each caller has its own error."""
    carrier = Carrier()
    carrier.error = DatabaseAway("gone")
    carrier.may_answer.set()
    gathering = Gathering(carrier.carry, lanes=1, most=3)
    outcomes = await asyncio.gather(*ask(gathering, "ab"), return_exceptions=True)
    assert [type(each) for each in outcomes] == [DatabaseAway, DatabaseAway]
    assert outcomes[0] is not outcomes[1]
    carrier.error = None
    assert await asyncio.gather(*ask(gathering, "c")) == ["answer to c"]


async def test_no_more_wait_than_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is told to come again."""
    monkeypatch.setattr(gathering, "_MOST_WAITING", 2)
    carrier = Carrier()
    bounded = Gathering(carrier.carry, lanes=1, most=3)
    asked = ask(bounded, "a")
    assert await carrier.lots.get() == "a"
    asked += ask(bounded, "bcd")
    with pytest.raises(DatabaseBusy):
        await asked.pop()
    carrier.may_answer.set()
    assert await asyncio.gather(*asked) == [f"answer to {key}" for key in "abc"]


async def test_who_has_gone_does_not_count_among_the_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their places are free at once, not when their turn would have come."""
    monkeypatch.setattr(gathering, "_MOST_WAITING", 2)
    carrier = Carrier()
    bounded = Gathering(carrier.carry, lanes=1, most=3)
    asked = ask(bounded, "a")
    assert await carrier.lots.get() == "a"
    gone = ask(bounded, "bc")
    await asyncio.sleep(0)
    for caller in gone:
        caller.cancel()
    await asyncio.wait(gone)
    asked += ask(bounded, "de")
    await asyncio.sleep(0)
    carrier.may_answer.set()
    assert await asyncio.gather(*asked) == [f"answer to {key}" for key in "ade"]
