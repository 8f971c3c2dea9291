"""What waits for one connection's reader is bounded, and its end is told last."""

import asyncio
from typing import Any

import orjson

from services.gateway import ending
from services.gateway.outbox import Outbox


async def rest_of(outbox: Outbox) -> list[Any]:
    found = []
    while (frame := await outbox.get()) is not None:
        found.append(orjson.loads(frame))
    return found


async def test_frames_come_in_order_and_the_end_last() -> None:
    outbox = Outbox(8)
    outbox.put("1")
    outbox.put("2")
    outbox.end(ending.stopping(700))
    outbox.put("3")
    outbox.end(ending.TOKEN_EXPIRED)
    end = {
        "of": "connection",
        "reason": "GATEWAY_STOPPING",
        "is_resumable": True,
        "retry_after_ms": 700,
    }
    assert await rest_of(outbox) == [1, 2, {"end": end}]


async def test_a_reader_too_far_behind_is_told_so_in_place_of_what_waited() -> None:
    outbox = Outbox(3)
    for number in range(5):
        outbox.put(str(number))
    assert outbox.ending is ending.SLOW_READER
    [frame] = await rest_of(outbox)
    assert frame["end"] == {"of": "connection", "reason": "SLOW_READER", "is_resumable": True}


async def test_as_many_as_may_wait_do() -> None:
    outbox = Outbox(3)
    for number in range(3):
        outbox.put(str(number))
    assert not outbox.over.is_set()


async def test_nothing_is_kept_for_a_client_that_has_gone() -> None:
    outbox = Outbox(3)
    outbox.put("1")
    outbox.abandon()
    outbox.put("2")
    assert await rest_of(outbox) == []
    assert outbox.ending is None


async def test_who_waits_for_a_frame_is_woken_by_it_and_by_the_end() -> None:
    outbox = Outbox(3)
    waiting = asyncio.create_task(rest_of(outbox))
    await asyncio.sleep(0)
    outbox.put("1")
    await asyncio.sleep(0)
    outbox.abandon()
    assert await waiting == [1]
