"""A worker answers in time: with the best that it has thought of until then."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from grpc.aio import ServicerContext
from prometheus_client import REGISTRY

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
from services.bots.thinking import RESERVE_S, Thought, think
from tests.unit.bots.views import view

SERIES = [Discard(Tile.R1), Discard(Tile.R2), Discard(Tile.R3)]


def clock(*left_s: float) -> Callable[[], float]:
    """The time left, at each look: before others get their turn and after it."""
    looks = iter(left_s)
    return lambda: next(looks)


@pytest.mark.parametrize(
    ("left_s", "expected"),
    [
        ([9.0] * 6, Thought(SERIES[2], is_complete=True)),
        ([9.0, 9.0, RESERVE_S], Thought(SERIES[1], is_complete=False)),
        ([9.0, RESERVE_S], Thought(SERIES[0], is_complete=False)),
        ([-1.0], Thought(SERIES[0], is_complete=False)),
        ([float("inf")] * 6, Thought(SERIES[2], is_complete=True)),
    ],
)
async def test_the_best_answer_for_which_there_was_time(
    left_s: list[float], expected: Thought
) -> None:
    """U10: an answer in time is worth more than the best one too late."""
    assert await think(iter(SERIES), clock(*left_s)) == expected


def counted(code: str) -> float:
    labels = {"level": "STRONG", "code": code}
    return REGISTRY.get_sample_value("okey_bots_answers_total", labels) or 0.0


@pytest.mark.parametrize(
    ("remaining_s", "code", "index"), [(None, "COMPLETE", -1), (RESERVE_S, "CUT_SHORT", 0)]
)
async def test_the_calls_own_deadline_counts(
    remaining_s: float | None, code: str, index: int
) -> None:
    """U10: without a deadline a strong bot thinks everything out."""
    seen = view("Y1 Y2 Y6 B5 B6 B9 R4 Y4 K7 K11 K12 K2 R13 R10 R6", [LegalAction.DISCARD])
    series = list(answers(seen, BotLevel.STRONG, False, 1))
    assert series[0] != series[-1]
    before = counted(code)
    set_deadline(remaining_s)
    request = bots_pb2.ChooseActionRequest(
        view=encode(seen, table_pb2.TableView), level=common_pb2.BOT_LEVEL_STRONG, seed=1
    )
    response = await BotServicer().ChooseAction(request, cast("ServicerContext[Any, Any]", None))
    assert response.action == action_message(series[index])
    assert counted(code) == before + 1


async def test_thoughts_take_turns() -> None:
    """One call's long thought does not keep the others waiting."""
    said: list[str] = []

    def series(name: str) -> Iterator[Action]:
        for action in SERIES:
            said.append(name)
            yield action

    await asyncio.gather(*(think(series(name), lambda: 9.0) for name in "ab"))
    assert said == list("ababab")


async def test_thoughts_of_others_cost_nobody_his_answer() -> None:
    """U10: whose time runs out while others think says what he has."""
    left_s = 9.0

    def long() -> Iterator[Action]:
        nonlocal left_s
        yield SERIES[0]
        left_s = RESERVE_S
        yield SERIES[1]

    _, thought = await asyncio.gather(
        think(long(), lambda: 9.0), think(iter(SERIES), lambda: left_s)
    )
    assert thought == Thought(SERIES[0], is_complete=False)
