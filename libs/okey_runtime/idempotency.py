"""What every service says of a key that comes again with other content (docs/api.md, "Requests that
are sent again").
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from okey.errors import quoted

REUSED: Final = "REQUEST_ID_REUSED"
"""The one name of this refusal; where the reason is an older one, ``same_as`` gives it."""


class ReusedKey(Exception):
    """A key stands for another request: that one stands, and this one changed nothing.

    Services derive their own error from this and from the category that gives its status; where
    that has a reason of its own, released callers know it.
    """

    key_name: ClassVar[str] = "request_id"
    """The field, or the fields together, that tell requests apart."""

    def __init__(
        self,
        key: str,
        first: str,
        differs: Iterable[str] = ("the content",),
        advice: str = "choose a new one for a new request",
    ) -> None:
        """``first`` says what the key stands for, ``differs`` what is other, by field if known."""
        self._key, self._differs = key, tuple(differs)
        super().__init__(
            f"{self.key_name} {quoted(key)} stands for {first}, which stays as it is; this request "
            f"differs in {', '.join(self._differs)} and changed nothing: {advice}"
        )

    @property
    def metadata(self) -> Mapping[str, str]:
        """The refusal's one name, the key, and what differs."""
        return {
            "same_as": REUSED,
            "key_name": self.key_name,
            "key": self._key,
            "differs": ",".join(self._differs),
        }


def differing(first: Mapping[str, object], again: Mapping[str, object]) -> tuple[str, ...]:
    """The fields whose values are not the same, by name."""
    return tuple(name for name in first if first[name] != again.get(name))
