"""The messages of a method, from bytes: their size is checked, then they are parsed, then checked
against the shape rules of the proto.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from google.protobuf.message import DecodeError, Message

from okey.errors import InvalidInput
from okey_runtime.errors import MalformedRequest
from okey_runtime.validation import check_message


class RequestTooLarge(InvalidInput):
    """A message has more bytes than any that keeps the rules of its proto; it was not parsed."""

    reason = "REQUEST_TOO_LARGE"

    def __init__(self, size: int, most: int) -> None:
        super().__init__(
            f"a message of this method has at most {most} bytes, this one has {size}: send less"
        )
        self._sizes = {"bytes": str(size), "most_bytes": str(most)}

    @property
    def metadata(self) -> Mapping[str, str]:
        """Its size, and the largest."""
        return self._sizes


class _Refused:
    """What stands in a stream for a message that could not be read, until its method asks."""

    __slots__ = ("error",)

    def __init__(self, error: InvalidInput) -> None:
        self.error = error


class Requests:
    """Makes messages of one method from bytes, which are at most ``most_bytes``."""

    def __init__(
        self,
        most_bytes: int,
        deserialize: Callable[[bytes], Any] | None,
        *,
        method_checks: bool = False,
    ) -> None:
        self.most_bytes: Final = most_bytes
        self._deserialize = deserialize
        self._method_checks = method_checks

    def read(self, content: bytes) -> Any:
        """The message, its rules unchecked.

        Raises:
            RequestTooLarge: there are more bytes than a message of this method has.
            MalformedRequest: they are no such message.
        """
        if len(content) > self.most_bytes:
            raise RequestTooLarge(len(content), self.most_bytes)
        if self._deserialize is None:
            return content
        try:
            return self._deserialize(content)
        except DecodeError:
            raise MalformedRequest(
                f"these {len(content)} bytes are not the protobuf message that this method takes"
            ) from None

    def checked(self, request: Any) -> Any:
        """The message, if it keeps the shape rules of its proto. Raises ``InvalidField``."""
        if isinstance(request, Message):
            check_message(request)
        return request

    def of_stream(self, content: bytes) -> Any:
        """A message of a stream; what is wrong with it is raised by ``checked_message`` where the
        method checks messages itself.
        """
        if not self._method_checks:
            return self.checked(self.read(content))
        try:
            return self.read(content)
        except InvalidInput as error:
            return _Refused(error)


def checked_message(request: Any) -> Any:
    """A message of a stream, if it could be read and keeps the shape rules of its proto.

    Raises:
        RequestTooLarge: it has more bytes than a message of the method.
        MalformedRequest: its bytes are no such message.
        InvalidField: it breaks a rule.
    """
    if isinstance(request, _Refused):
        raise request.error
    if isinstance(request, Message):
        check_message(request)
    return request
