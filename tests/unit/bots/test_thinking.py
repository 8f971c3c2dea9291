"""A worker answers in time: with the best that it has thought of until then."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any, cast

import pytest
from grpc.aio import ServicerContext

from okey.api.bots.v1 import bots_pb2
from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.bots.choose import answers
from okey.rules.tile import Tile
from okey.rules.variant import BotLevel
from okey.table.commands import Action, Discard
from okey.table.legal import LegalAction
from okey_client.pure import action_message
from okey_runtime.codec import encode
from okey_runtime.deadline import set_deadline
from services.bots.servicer import BotServicer
from services.bots.thinking import RESERVE_S, Thinking, Thought
from tests.metrics import sample
from tests.unit.bots.views import view

SERIES = [Discard(tile) for tile in (Tile.R1, Tile.R2, Tile.R3, Tile.R4, Tile.R5)]
AT_ONCE = 3


def clock(*left_s: float) -> Callable[[], float]:
    """The time left, at each look: before the call waits for its turn, then after others had it."""
    looks = iter(left_s)
    return lambda: next(looks)


@pytest.mark.parametrize(
    ("left_s", "expected"),
    [
        ([9.0] * 4, Thought(SERIES[4], is_complete=True)),
        ([9.0, 9.0, RESERVE_S], Thought(SERIES[3], is_complete=False)),
        ([9.0, RESERVE_S], Thought(SERIES[2], is_complete=False)),
        ([-1.0, -1.0], Thought(SERIES[2], is_complete=False)),
        ([float("inf")] * 4, Thought(SERIES[4], is_complete=True)),
    ],
)
async def test_the_best_answer_for_which_there_was_time(
    left_s: list[float], expected: Thought
) -> None:
    """U10: an answer in time is worth more than the best one too late."""
    assert await Thinking().think(iter(SERIES), clock(*left_s)) == expected


@pytest.mark.parametrize("count", [1, 2])
async def test_a_short_series_needs_no_turn(count: int) -> None:
    """Easy and normal bots, and every draw, wait for nobody's long thought."""
    thinking = Thinking()
    others = asyncio.create_task(thinking.think(repeat(SERIES[0]), lambda: 9.0))
    await asyncio.sleep(0)
    thought = await thinking.think(iter(SERIES[:count]), clock())
    assert thought == Thought(SERIES[count - 1], is_complete=True)
    others.cancel()


def counted(code: str) -> float:
    return sample("okey_bots_answers_total", level="STRONG", code=code)


@pytest.mark.parametrize(
    ("remaining_s", "code", "index"),
    [(None, "COMPLETE", -1), (RESERVE_S, "CUT_SHORT", AT_ONCE - 1)],
)
async def test_the_calls_own_deadline_counts(
    remaining_s: float | None, code: str, index: int
) -> None:
    """U10: without a deadline a strong bot thinks everything out."""
    rack = "B2 K2 K8 K7 Y3 Y7 Y4 B8 B10 Y9 R1 K12 B1 B12 Y8"
    seen = view(rack, [LegalAction.DISCARD])
    series = list(answers(seen, BotLevel.STRONG, False, 1))
    assert series[AT_ONCE - 1] != series[-1]
    before = counted(code)
    set_deadline(remaining_s)
    request = bots_pb2.ChooseActionRequest(
        view=encode(seen, table_pb2.TableView), level=common_pb2.BOT_LEVEL_STRONG, seed=1
    )
    response = await BotServicer().ChooseAction(request, cast("ServicerContext[Any, Any]", None))
    assert response.action == action_message(series[index])
    assert counted(code) == before + 1


async def test_who_comes_has_its_first_answers_before_others_go_on() -> None:
    """Then one after another is thought out, in the order in which they came."""
    said: list[str] = []

    def series(name: str) -> Iterator[Action]:
        for action in SERIES:
            said.append(name)
            yield action

    thinking = Thinking()
    await asyncio.gather(*(thinking.think(series(name), lambda: 9.0) for name in "abc"))
    assert "".join(said) == "aaabbbccc" + "aabbcc"


async def test_whose_time_ends_before_its_turn_is_answered_with_what_it_has() -> None:
    """U10: many may think at once; the first answers of each are there all the same."""
    thinking = Thinking()
    others = asyncio.create_task(thinking.think(repeat(SERIES[0]), lambda: 9.0))
    await asyncio.sleep(0)
    waits = (thinking.think(iter(SERIES), lambda: RESERVE_S + 0.01) for _ in range(200))
    thoughts = await asyncio.gather(*waits)
    assert set(thoughts) == {Thought(SERIES[AT_ONCE - 1], is_complete=False)}
    others.cancel()


async def test_a_call_that_is_given_up_leaves_its_turn_to_the_next() -> None:
    thinking = Thinking()
    others = asyncio.create_task(thinking.think(repeat(SERIES[0]), lambda: 9.0))
    await asyncio.sleep(0)
    next_one = asyncio.create_task(thinking.think(iter(SERIES), lambda: 9.0))
    await asyncio.sleep(0)
    others.cancel()
    assert await next_one == Thought(SERIES[-1], is_complete=True)
