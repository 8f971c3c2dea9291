"""Streams whose reader takes nothing any more: they are ended, and it is told once it reads."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from okey.errors import Exhausted, OkeyError

UNREAD_FOR_S: Final = 60.0
"""How long a message of a stream may wait for its reader."""


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
        self._why: OkeyError | None = None

    def now(self, why: OkeyError | None = None) -> None:
        """It was not read for too long, or ends for another reason."""
        self._why = why or StreamNotRead(
            "the stream was not read for too long; open it again where it stopped, and read faster"
        )
        self._task.cancel()

    @contextmanager
    def unread_for(self, most_s: float) -> Iterator[None]:
        """Around the writing of a message, which its reader has to take within this time."""
        unread = asyncio.get_running_loop().call_later(most_s, self.now)
        try:
            yield
        finally:
            unread.cancel()

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Left with ``StreamNotRead``, or the other reason, where it was cut and nobody else has
        cancelled it.
        """
        try:
            yield
        except asyncio.CancelledError:
            if self._why is None or self._task.uncancel() > 0:
                raise
            raise self._why from None
