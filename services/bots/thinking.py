"""Choosing within the time that a call has: the best answer so far, rather than none (U10)."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from okey.table.commands import Action

RESERVE_S: Final = 0.1
"""What is left of a call's time for sending the answer, and for other calls' thoughts in between.

A step of thought takes some tens of milliseconds at most.
"""


@dataclass(frozen=True, slots=True)
class Thought:
    """An answer, and whether there was time to think it out."""

    action: Action
    is_complete: bool


async def think(answers: Iterator[Action], time_left_s: Callable[[], float]) -> Thought:
    """The last of ``answers``, each better than the one before, or the last for which there was
    time; the first in any case.

    Other calls get their turn between any two of them, and may take long: the time is looked at
    again when they have had it.
    """
    best = next(answers)
    while time_left_s() > RESERVE_S:
        await asyncio.sleep(0)
        if time_left_s() <= RESERVE_S:
            break  # the others took what was left
        better = next(answers, None)
        if better is None:
            return Thought(best, is_complete=True)
        best = better
    return Thought(best, is_complete=False)
