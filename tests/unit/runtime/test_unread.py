"""A stream that is not read is ended, and its reader told; what somebody else ends is not."""

import asyncio
from collections.abc import Callable

import pytest

from okey_runtime.unread import Cut, StreamNotRead


async def served(end: Callable[[Cut, "asyncio.Task[None]"], None]) -> BaseException | None:
    """How a stream ends to which ``end`` happens while it waits for its reader."""
    cuts: asyncio.Queue[Cut] = asyncio.Queue()

    async def serve() -> None:
        cut = Cut()
        with cut.telling():
            cuts.put_nowait(cut)
            await asyncio.Event().wait()

    task = asyncio.create_task(serve())
    end(await cuts.get(), task)
    await asyncio.wait([task])
    return asyncio.CancelledError() if task.cancelled() else task.exception()


def both(cut: Cut, task: "asyncio.Task[None]") -> None:
    cut.now()
    task.cancel()


async def test_what_is_cut_says_so() -> None:
    assert isinstance(await served(lambda cut, _: cut.now()), StreamNotRead)


@pytest.mark.parametrize("end", [lambda _, task: task.cancel(), both])
async def test_what_is_cancelled_by_others_has_nobody_to_tell(
    end: Callable[[Cut, "asyncio.Task[None]"], None],
) -> None:
    assert isinstance(await served(end), asyncio.CancelledError)


async def test_a_message_that_is_not_taken_in_time_cuts_its_stream() -> None:
    async def serve() -> None:
        cut = Cut()
        with cut.telling():
            with cut.unread_for(60):
                await asyncio.sleep(0)
            with cut.unread_for(0.01):
                await asyncio.Event().wait()

    with pytest.raises(StreamNotRead):
        await asyncio.create_task(serve())
