"""When a pass of a failpoint is a crash, and whose."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from okey_runtime.database import DatabaseAway
from okey_runtime.failpoints import kind_of

ENGINE: Final = "engine"
WALLET: Final = "wallet"
_OF_EVERY_COMMIT: Final = "engine.decided"

Trigger = Callable[[int, str], bool]
"""Says of a pass, by its number since the last crash and its label, whether it is a crash."""


def nth(number: int) -> Trigger:
    """The pass of that number, from 0."""
    return lambda passed, _: passed == number


def again(label: str) -> Trigger:
    """The next pass of the same place."""
    return lambda _, passed: passed == label


class Striker:
    """Counts passes, and crashes at the triggers, one after another.

    Whatever passes a failpoint of a crashed side before ``revive`` crashes too: a process that is
    gone does nothing more. ``crashed`` yields the sides to start again.
    """

    def __init__(self, triggers: Iterable[Trigger], falls: Sequence[str] = ()) -> None:
        """``falls`` are the sides that fall at a crash; by default only the one that passed."""
        self.passes: Final[list[str]] = []
        self.crashed: Final[asyncio.Queue[str]] = asyncio.Queue()
        self._triggers = list(triggers)
        self._falls = falls
        self._since = 0
        self._dead: set[str] = set()
        self._operation = ""
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()

    @property
    def is_spent(self) -> bool:
        """Whether every planned crash has happened."""
        return not self._triggers

    def revive(self, side: str) -> None:
        """The side runs again."""
        with self._lock:
            self._dead.discard(side)

    def strike(self, point: str, about: object) -> None:
        """For ``failpoints.armed``; called on any thread."""
        if point == _OF_EVERY_COMMIT:
            return  # about owners, not about money
        side = point.partition(".")[0]
        with self._lock:
            if side in self._dead:
                raise _gone(side)
            label = self._label(point, about)
            self.passes.append(label)
            if not self._triggers or not self._triggers[0](self._since, label):
                self._since += 1
                return
            del self._triggers[0]
            self._since = 0
            fallen = self._falls or (side,)
            self._dead |= set(fallen)
        for each in fallen:
            self._loop.call_soon_threadsafe(self.crashed.put_nowait, each)
        raise _gone(side)

    def _label(self, point: str, about: object) -> str:
        if point == "wallet.journal_inserted":
            # A journal does not know for whom it is booked; its transaction has begun just before.
            return f"{point} {self._operation}"
        self._operation = kind_of(about)
        return f"{point} {self._operation}"


def _gone(side: str) -> BaseException:
    """What ends the work of a side that is no more, as quietly as a crash does."""
    return asyncio.CancelledError() if side == ENGINE else DatabaseAway("the wallet has crashed")
