"""A run waits for its end as long as anything moves, and no longer."""

import asyncio
from collections.abc import Iterable, Iterator
from itertools import chain, count, repeat

import pytest

from tests.chaos.tables.settling import LOOKS_AT_REST, MOST_LOOKS, Left, at_rest


async def settled(looks: Iterable[Left | None], *, is_over: bool = True) -> tuple[bool, int]:
    """Whether it came to rest, and after how many looks."""
    left: Iterator[Left | None] = iter(looks)
    playing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    if is_over:
        playing.set_result(None)
    numbers = count()

    async def look() -> Left | None:
        next(numbers)
        return next(left)

    return await at_rest(look, playing, lambda: asyncio.sleep(0)), next(numbers)


async def test_all_is_told() -> None:
    assert await settled([Left(2, 9, 3), None, Left(0, 9, 9)]) == (True, 3)


async def test_who_moves_slowly_is_waited_for() -> None:
    """What moves may be the rows or what is told of them."""
    slow = (Left(1, 9, told) for told in range(5) for _ in range(LOOKS_AT_REST))
    assert await settled(chain(slow, [Left(0, 9, 9)])) == (True, 5 * LOOKS_AT_REST + 1)


@pytest.mark.parametrize("left", [Left(1, 9, 9), None])
async def test_what_does_not_move_is_not(left: Left | None) -> None:
    is_settled, looks = await settled(repeat(left))
    assert not is_settled
    assert looks <= LOOKS_AT_REST + 1


async def test_who_still_plays_is_not_at_rest() -> None:
    assert not (await settled(repeat(Left(0, 9, 9)), is_over=False))[0]


async def test_rows_without_end() -> None:
    assert await settled(Left(1, row, 0) for row in count()) == (False, MOST_LOOKS)


async def test_a_player_that_fails_is_told() -> None:
    playing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    playing.set_exception(AssertionError("OpenTable was refused"))

    async def look() -> Left:
        return Left(1, 1, 1)

    with pytest.raises(AssertionError, match="OpenTable"):
        await at_rest(look, playing, lambda: asyncio.sleep(0))
