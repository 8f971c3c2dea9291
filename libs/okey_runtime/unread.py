"""Streams whose reader takes nothing any more: they are ended, and it is told once it reads."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from okey.errors import Exhausted


class StreamNotRead(Exhausted):
    """The stream was not read for too long; open it again where it stopped."""

    reason = "STREAM_NOT_READ"


class Cut:
    """Ends the stream that the running task serves, if ``now`` is called while ``telling`` lasts.

    A task that is merely cancelled would do so too, but gRPC takes it for one whose caller has
    gone: it sends no status, and a reader that reads again waits for ever.
    """

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "streams are served by tasks"
        self._task = task
        self._is_due = False

    def now(self) -> None:
        """It was not read for too long."""
        self._is_due = True
        self._task.cancel()

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Left with ``StreamNotRead`` where it was cut, and nobody else has cancelled it."""
        try:
            yield
        except asyncio.CancelledError:
            if not self._is_due or self._task.uncancel() > 0:
                raise
            raise StreamNotRead(
                "the stream was not read for too long; open it again where it stopped, and read "
                "faster"
            ) from None
