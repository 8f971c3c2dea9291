"""What a piece of work ended with, kept for whoever is told of it."""

from types import TracebackType
from typing import Self


class Caught:
    """Keeps the error of its block, so that it can be handed to who waits for the outcome.

    Cancellation passes through: it is asked of whoever runs the block, not of the work.
    """

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if isinstance(error, Exception):
            self.error = error
            return True
        return False
