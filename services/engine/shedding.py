"""Too much to do: what can wait is refused, so that running rounds go on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from okey.errors import Exhausted

_RETRY_AFTER_MS: Final = 1_000


class Overloaded(Exhausted):
    """The engine has more to do than it can; try again a little later."""

    reason = "ENGINE_BUSY"

    @property
    def retry_after_ms(self) -> int:
        """When another try makes sense."""
        return _RETRY_AFTER_MS


class Beat(Protocol):
    """What knows how late the event loop runs."""

    @property
    def lag_ms(self) -> int:
        """How late it wakes sleepers, again and again."""
        ...


class Queue(Protocol):
    """What waits for the database."""

    @property
    def waiting(self) -> int:
        """How many rows."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """From where on it is too much: how late the loop runs, rows that wait, open streams."""

    lag_ms: int
    rows: int
    streams: int


class Shedding:
    """Says whether something new may begin.

    New tables and seats, spectators, other teams and finished rounds wait while the loop or the
    database falls behind. Moves are refused by the bounds of their queues only, and a stream of
    whoever sits at the table by the number of streams only.
    """

    def __init__(self, limits: Limits, beat: Beat, queue: Queue) -> None:
        self._limits = limits
        self._beat = beat
        self._queue = queue
        self._streams = 0

    def refuse_if_busy(self) -> None:
        """Raise ``Overloaded`` where what can wait shall wait."""
        limits = self._limits
        if self._beat.lag_ms > limits.lag_ms:
            raise Overloaded(
                f"the engine is {self._beat.lag_ms} ms behind; running rounds go first, try again "
                f"in {_RETRY_AFTER_MS} ms"
            )
        if self._queue.waiting > limits.rows:
            raise Overloaded(
                f"{self._queue.waiting} rows wait for the database; running rounds go first, try "
                f"again in {_RETRY_AFTER_MS} ms"
            )

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Around each open stream; raises ``Overloaded`` where there are too many."""
        if self._streams >= self._limits.streams:
            raise Overloaded(
                f"{self._streams} streams are open, as many as this engine serves; try again later"
            )
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1
