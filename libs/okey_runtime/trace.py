"""One id for everything that one request sets off, over all services: W3C ``traceparent`` metadata.

The id stands in every log line as ``trace_id``. Calls that come without one get a new one.
"""

import re
import secrets
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Final

TRACEPARENT: Final = "traceparent"

_FORM: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})")
_NONE: Final = "0" * 32

_current: ContextVar[tuple[str, str] | None] = ContextVar("okey_trace", default=None)


def adopt_trace(metadata: Iterable[tuple[str, str | bytes]]) -> str:
    """Take over an incoming call's trace, or begin one; gives the trace's id (32 hex digits)."""
    trace = (secrets.token_hex(16), "00")
    for key, value in metadata:
        if key == TRACEPARENT and isinstance(value, str) and (match := _FORM.fullmatch(value)):
            trace = (match[1], match[2]) if match[1] != _NONE else trace
    _current.set(trace)
    return trace[0]


def outgoing_trace() -> tuple[tuple[str, str], ...]:
    """The metadata that carries the trace on to the next service; none where no call is served."""
    trace = _current.get()
    if trace is None:
        return ()
    trace_id, flags = trace
    return ((TRACEPARENT, f"00-{trace_id}-{secrets.token_hex(8)}-{flags}"),)
