"""Deadlines of outgoing calls: gRPC for Python does not hand the caller's deadline on by itself."""

import time
from contextvars import ContextVar

_ends_s: ContextVar[float | None] = ContextVar("okey_deadline", default=None)


def set_deadline(remaining_s: float | None) -> None:
    """Note the time left to the call being served (None: no limit); the interceptor calls it."""
    _ends_s.set(None if remaining_s is None else time.monotonic() + remaining_s)


def timeout_s(at_most_s: float) -> float:
    """The timeout for a call made now: ``at_most_s``, or what is left of the call being served if
    that is less.
    """
    ends_s = _ends_s.get()
    return at_most_s if ends_s is None else max(0.0, min(at_most_s, ends_s - time.monotonic()))
