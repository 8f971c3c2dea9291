"""What gRPC and uvicorn say of clients that misbehave: one line of a kind in ten seconds.

Whoever reaches a port can have it log, also without a token: a message that inflates beyond the
limit, or a call that breaks off while it is answered, may leave an error with the traceback of a
failed batch of gRPC's core; what is no HTTP leaves a line of the web server. Nothing is wrong with
the service then. Errors of our own that they have caught keep their traceback, each time.
"""

import logging
import re
from dataclasses import dataclass
from typing import Final

import grpc
from prometheus_client import Counter

from okey_runtime.clock import Clock, SystemClock

EVERY_MS: Final = 10_000
"""How long lines of a kind are left out after one was written."""
_MOST_KINDS: Final = 100
_BEGINNING: Final = re.compile(r"[\[(\n]")
_LIBRARIES: Final = frozenset({"grpc", "uvicorn", "websockets"})
_LOOP: Final = "asyncio"

LEFT_OUT: Final = Counter(
    "okey_log_lines_left_out_total",
    "Lines of libraries about their peers left out, since one like them was written just before.",
    ("level",),
)

_Kind = tuple[str, int, str]
"""Logger, level, and what the text begins with: names of methods stand in brackets behind it."""


@dataclass(slots=True)
class _Told:
    """When a line of a kind was written last, and how many were left out since."""

    at_ms: int
    left_out: int = 0


class LibraryNoise(logging.Filter):
    """Lets one line of a kind through in ``every_ms``, with the number of those left out before it;
    the rest of the log passes as it is.
    """

    def __init__(self, clock: Clock | None = None, every_ms: int = EVERY_MS) -> None:
        super().__init__()
        self._clock = clock or SystemClock()
        self._every_ms = every_ms
        self._told: dict[_Kind, _Told] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written; one that is noise loses its traceback."""
        if not _is_noise(record):
            return True
        text = record.getMessage()
        now_ms = self._clock.monotonic_ms()
        kind = (record.name, record.levelno, _BEGINNING.split(text, 1)[0])
        told = self._told.get(kind)
        if told is not None and now_ms < told.at_ms + self._every_ms:
            told.left_out += 1
            LEFT_OUT.labels(record.levelname.lower()).inc()
            return False
        self._remember(kind, now_ms)
        if told is not None and told.left_out:
            text = f"{text} (and {told.left_out} like this that were left out)"
        if record.exc_info:
            text = f"{text}: {record.exc_info[1]}"
        record.msg, record.args, record.exc_info, record.exc_text = text, (), None, None
        return True

    def _remember(self, kind: _Kind, now_ms: int) -> None:
        if len(self._told) >= _MOST_KINDS:
            del self._told[next(iter(self._told))]
        self._told[kind] = _Told(now_ms)


def _is_noise(record: logging.LogRecord) -> bool:
    """Whether it tells of a peer alone: a line of a library's without an error of ours, a task of
    gRPC's that nobody waited for, or a connection that the loop could not take or use.
    """
    error = record.exc_info[1] if record.exc_info else None
    library = record.name.partition(".")[0]
    if error is None:
        return library in _LIBRARIES
    if library == _LOOP and isinstance(error, OSError):
        return True
    return library in ("grpc", _LOOP) and isinstance(error, grpc.aio.InternalError)
