"""What a stranger can have logged: one line of a kind in ten seconds, which counts those left out.

``LINES`` counts for the whole process. Whatever somebody outside can cause goes through it: refused
hosts and players, errors that nobody foresaw (``unforeseen``), and what libraries say about their
peers (``library_noise``).
"""

import secrets
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from prometheus_client import Counter
from structlog.stdlib import BoundLogger

from okey_runtime.clock import Clock, SystemClock

EVERY_MS: Final = 10_000
"""How long lines of a kind are left out after one was written."""
_MOST_KINDS: Final = 100

LEFT_OUT: Final = Counter(
    "okey_log_lines_left_out_total",
    "Lines about peers and callers left out, since one like them was written just before.",
    ("level",),
)


@dataclass(slots=True)
class Line:
    """A line to be written, with how many like it were left out before; later ones of its kind are
    counted in it.
    """

    at_ms: int
    left_out: int
    since: int = 0
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    """Names the line, so that an answer can tell which line is about it."""


class LineQuota:
    """Says which lines are written; of kinds, the oldest of many is forgotten."""

    def __init__(self, clock: Clock | None = None, every_ms: int = EVERY_MS) -> None:
        self._clock = clock or SystemClock()
        self._every_ms = every_ms
        self._written: dict[Hashable, Line] = {}

    def take(self, kind: Hashable, level: str) -> tuple[Line, bool]:
        """The newest written line of the kind, and whether that is the one to be written now."""
        now_ms = self._clock.monotonic_ms()
        last = self._written.get(kind)
        if last is not None and now_ms < last.at_ms + self._every_ms:
            last.since += 1
            LEFT_OUT.labels(level).inc()
            return last, False
        self._written.pop(kind, None)
        if len(self._written) >= _MOST_KINDS:
            del self._written[next(iter(self._written))]
        line = self._written[kind] = Line(now_ms, last.since if last is not None else 0)
        return line, True

    def clear(self) -> None:
        """Forget what was written; for tests, which share the process."""
        self._written.clear()

    def warn(self, log: BoundLogger, event: str, **fields: Any) -> None:
        """Log a warning of which strangers are the cause, if its turn has come."""
        line, is_due = self.take(event, "warning")
        if is_due:
            log.warning(event, left_out=line.left_out, **fields)


LINES: Final = LineQuota()
