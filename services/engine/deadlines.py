"""Answers that must come in time: one timer for all of them, since nearly all have equally long."""

import asyncio
from collections import deque
from typing import Final

from services.engine.accepted import Accepted
from services.engine.errors import command_timed_out


class Deadlines:
    """Fails each answer that has not come ``within_ms`` after it was asked for."""

    def __init__(self, within_ms: int) -> None:
        self.within_ms: Final = within_ms
        self._waiting: deque[tuple[float, asyncio.Future[Accepted]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, answer: asyncio.Future[Accepted]) -> None:
        """The answer was asked for now."""
        self._forget_answered()
        loop = answer.get_loop()
        self._waiting.append((loop.time() + self.within_ms / 1000, answer))
        if self._timer is None:
            self._ring_for_first(loop)

    def watch_sooner(self, answer: asyncio.Future[Accepted], within_ms: int) -> None:
        """The answer was asked for now, by somebody who does not wait that long."""
        timer = answer.get_loop().call_later(within_ms / 1000, _give_up, answer, within_ms)
        answer.add_done_callback(lambda _: timer.cancel())

    def _forget_answered(self) -> None:
        # They come in about the order in which they were asked for.
        while self._waiting and self._waiting[0][1].done():
            self._waiting.popleft()

    def _ring_for_first(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_at(self._waiting[0][0], self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now_s = loop.time()
        while self._waiting and (self._waiting[0][0] <= now_s or self._waiting[0][1].done()):
            _give_up(self._waiting.popleft()[1], self.within_ms)
        if self._waiting:
            self._ring_for_first(loop)


def _give_up(answer: asyncio.Future[Accepted], within_ms: int) -> None:
    if not answer.done():
        answer.set_exception(command_timed_out(within_ms))
