"""The root of every named error, and the categories that say who has to change what.

A category maps to one gRPC status (see ``okey_runtime.errors``); a named subclass adds the
machine-readable ``reason`` that clients switch on. Messages quote the offending value and say what
to do instead.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

_MOST_QUOTED: Final = 80


def quoted(value: object) -> str:
    """The offending value as a message quotes it: its ``repr``, cut to a readable length."""
    # Of a long text only so much is looked at: nobody needs an escaped copy of a megabyte.
    text = repr(value[: _MOST_QUOTED + 1] if isinstance(value, str | bytes) else value)
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}..."


class OkeyError(Exception):
    """Root of all errors that a caller may see; ``reason`` is stable and documented."""

    reason: ClassVar[str] = "OKEY_ERROR"

    @property
    def metadata(self) -> Mapping[str, str]:
        """What machines learn beside the reason, such as the address to call instead."""
        return {}

    @property
    def retry_after_ms(self) -> int | None:
        """After how many milliseconds another try makes sense; None where nobody can say."""
        return None


class InvalidInput(OkeyError):
    """The request is malformed and never becomes right by waiting (INVALID_ARGUMENT)."""

    reason = "INVALID_INPUT"


class Refused(OkeyError):
    """The request is well-formed, but the present state does not allow it (FAILED_PRECONDITION)."""

    reason = "REFUSED"


class NotFound(OkeyError):
    """The thing named does not exist, or not for this caller (NOT_FOUND)."""

    reason = "NOT_FOUND"


class Forbidden(OkeyError):
    """The caller may not do this, whatever the state (PERMISSION_DENIED)."""

    reason = "FORBIDDEN"


class AlreadyExists(OkeyError):
    """The thing to be made is there already, with other content (ALREADY_EXISTS)."""

    reason = "ALREADY_EXISTS"


class Exhausted(OkeyError):
    """A limit is reached; try again later or ask for less (RESOURCE_EXHAUSTED)."""

    reason = "EXHAUSTED"


class Unavailable(OkeyError):
    """Something this depends on is away; the same request may be sent again (UNAVAILABLE)."""

    reason = "UNAVAILABLE"
