"""gRPC streams of tests, which end with the block that reads them.

One that is dropped while it runs is ended by the collector, in the midst of whatever runs then.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def cancelling(stream: Any) -> Iterator[Any]:
    """The stream, cancelled at the end of the block."""
    try:
        yield stream
    finally:
        stream.cancel()


class Dropped(logging.Handler):
    """Notes the streams that the collector found running: what asyncio says of the tasks that write
    their messages.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record, if it is one of these."""
        said = record.getMessage()
        if "was destroyed but it is pending" in said and "_consume_request_iterator" in said:
            self._said.append(said)

    def take(self) -> list[str]:
        """What was noted since the last look."""
        said, self._said = self._said, []
        return said
