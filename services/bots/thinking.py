"""Choosing within the time that a call has: the best answer so far, rather than none (U10)."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import isinf
from typing import Final

from okey.table.commands import Action

RESERVE_S: Final = 0.1
"""What is left of a call's time for sending the answer, and for other calls' thoughts in between.

A step of thought takes some tens of milliseconds at most.
"""

_AT_ONCE: Final = 3
"""Answers that a call gets before it has to wait for its turn. A draw has no more than two, other
bots than strong one, so that these wait for nobody; strong's third may be the first that looks
ahead.
"""

_ROUNDS: Final = 12
"""As many rounds of the event loop as a call needs from its arrival to its first answer."""


@dataclass(frozen=True, slots=True)
class Thought:
    """An answer, and whether there was time to think it out."""

    action: Action
    is_complete: bool


class Thinking:
    """What one process thinks: every call has its first answers at once, then one after another is
    thought out.

    If all went on together, a call that comes would wait for a step of each of them, over and over,
    and short ones would miss their time.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def think(self, answers: Iterator[Action], time_left_s: Callable[[], float]) -> Thought:
        """The last of ``answers``, each better than the one before, or the last for which there was
        time; one of the first in any case.
        """
        first = list(islice(answers, _AT_ONCE))
        if len(first) < _AT_ONCE:
            return Thought(first[-1], is_complete=True)
        left_s = time_left_s() - RESERVE_S
        try:
            async with asyncio.timeout(None if isinf(left_s) else left_s):
                await self._turn.acquire()
        except TimeoutError:
            return Thought(first[-1], is_complete=False)
        try:
            return await _thought_out(first[-1], answers, time_left_s)
        finally:
            self._turn.release()


async def _thought_out(
    best: Action, answers: Iterator[Action], time_left_s: Callable[[], float]
) -> Thought:
    """Whoever comes gets its first answers in between, and may take long: so the time is looked at
    after that.
    """
    while True:
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
        if time_left_s() <= RESERVE_S:
            return Thought(best, is_complete=False)
        better = next(answers, None)
        if better is None:
            return Thought(best, is_complete=True)
        best = better
