"""What libraries say of peers that misbehave: one line of a kind now and then (``line_quota``).

Anybody who reaches a port can have gRPC log, also without a token: a header that is no UTF-8, or a
call that breaks off while it is answered, may leave an error with a traceback each. Nothing is
wrong with the service then, so the traceback is dropped. Errors of our own that a library has
caught keep theirs.
"""

import logging
from typing import Final

import grpc

from okey_runtime.line_quota import LINES, LineQuota

LIBRARIES: Final = frozenset({"grpc", "uvicorn", "websockets"})
"""Loggers, with all below them, of libraries that tell about peers."""
_LOOP: Final = "asyncio"
_OF_PEERS: Final = (grpc.aio.InternalError, OSError, UnicodeDecodeError)
"""Errors that a peer alone is to blame for."""


class LibraryNoise(logging.Filter):
    """Lets one line of a kind through now and then, with the number of those left out before it;
    the rest of the log passes as it is.
    """

    def __init__(self, lines: LineQuota = LINES) -> None:
        super().__init__()
        self._lines = lines

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written; one about a peer loses its traceback."""
        if not self._is_noise(record):
            return True
        error = record.exc_info[1] if record.exc_info else None
        kind = (record.name, record.levelno, _stem(record.msg), type(error))
        line, is_due = self._lines.take(kind, record.levelname.lower())
        if not is_due:
            return False
        text = record.getMessage()
        if line.left_out:
            text = f"{text} (and {line.left_out} like this that were left out)"
        if isinstance(error, _OF_PEERS):
            text = f"{text}: {error}"
            record.exc_info = record.exc_text = None
        record.msg, record.args = text, ()
        return True

    def _is_noise(self, record: logging.LogRecord) -> bool:
        """Whether a library says it; of the loop's lines, whether a task failed unseen."""
        library = record.name.partition(".")[0]
        return library in LIBRARIES or (library == _LOOP and bool(record.exc_info))


def _stem(text: object) -> str:
    """What lines of a kind have in common: names and values stand in brackets or quotes."""
    stem = str(text)
    for opening in "[('\"\n":
        stem = stem.partition(opening)[0]
    return stem
