"""What is asked at about the same time is read together, and each asker gets its own answer."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from okey_runtime.database import DatabaseAway
from services.engine.gathering import Gathering


class Shelf:
    """What is read, and what was asked for together; nothing is answered until ``go_on`` is set."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.failures: list[Exception] = []
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def read(self, keys: Sequence[str]) -> Mapping[str, str]:
        self.asked.append(list(keys))
        await self.go_on.wait()
        if self.failures:
            raise self.failures.pop(0)
        return {key: key.upper() for key in keys}


async def asked(gathering: Gathering[str, str], keys: str) -> list[str]:
    async with asyncio.timeout(10):
        return await asyncio.gather(*map(gathering.ask, keys))


async def test_what_is_asked_together_is_read_together() -> None:
    shelf = Shelf()
    gathering = Gathering(shelf.read, most=3)
    assert await asked(gathering, "abcdefg") == list("ABCDEFG")
    assert shelf.asked == [["a", "b", "c"], ["d", "e", "f"], ["g"]]
    assert await asked(gathering, "a") == ["A"], "nothing is kept"
    assert shelf.asked[3:] == [["a"]]


async def test_two_answers_are_waited_for_at_once_and_the_rest_gathers() -> None:
    shelf = Shelf()
    gathering = Gathering(shelf.read, most=1)
    shelf.go_on.clear()
    asking = asyncio.create_task(asked(gathering, "abcd"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert shelf.asked == [["a"], ["b"]]
    shelf.go_on.set()
    assert await asking == list("ABCD")


async def test_a_read_that_fails_fails_for_those_who_asked_and_no_others() -> None:
    shelf = Shelf()
    shelf.failures = [DatabaseAway("as the test says")]
    gathering = Gathering(shelf.read, most=2)
    asking = asyncio.gather(*map(gathering.ask, "abc"), return_exceptions=True)
    first, second, third = await asking
    assert isinstance(first, DatabaseAway)
    assert isinstance(second, DatabaseAway)
    assert third == "C"


async def test_who_has_gone_keeps_nobody_from_an_answer() -> None:
    shelf = Shelf()
    gathering = Gathering(shelf.read)
    shelf.go_on.clear()
    going, staying = (asyncio.create_task(gathering.ask(key)) for key in "ab")
    await asyncio.sleep(0)
    going.cancel()
    shelf.go_on.set()
    async with asyncio.timeout(10):
        assert await staying == "B"


async def test_nobody_waits_for_one_that_is_closed() -> None:
    shelf = Shelf()
    gathering = Gathering(shelf.read, most=1)
    shelf.go_on.clear()
    asking = [asyncio.create_task(gathering.ask(key)) for key in "abc"]
    for _ in range(20):
        await asyncio.sleep(0)
    await gathering.close()
    async with asyncio.timeout(10):
        for task in asking:
            with pytest.raises(asyncio.CancelledError):
                await task
