"""Calls whose message has not come yet: how long each waits, and how many wait, together and of one
caller.

gRPC serves a call from its headers on and waits for the message without an end. Here we read it
ourselves, once it is known who calls. Where too many wait, the oldest goes first: an honest call's
message comes right behind its headers.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final

from okey_runtime.limits import Limited

_MOST: Final = 2_000
_SHARE: Final = 200
_RETRY_MS: Final = 1_000


class RequestNotSent(Limited):
    """A call's message did not come in time, or was not there yet when too many were waited for."""

    reason = "REQUEST_NOT_SENT"


class Arrivals:
    """Waits for messages: ``within_ms`` for each, at most ``most`` at once, ``share`` of them one
    player's or, where nobody has to say who it is, one address's.
    """

    def __init__(self, within_ms: int, most: int = _MOST, share: int = _SHARE) -> None:
        self._within_ms = within_ms
        self._most = most
        self._share = share
        self._waiting: dict[asyncio.Timeout, str] = {}
        self._by_caller: dict[str, dict[asyncio.Timeout, None]] = {}

    async def of(self, message: Awaitable[Any], whose: str = "") -> Any:
        """The message once it is there; "" is a service, which has no share but the whole.

        Raises:
            RequestNotSent: it did not come in time, or was the oldest of too many.
        """
        limit = asyncio.timeout(self._within_ms / 1_000)
        try:
            async with limit:
                self._enter(limit, whose)
                try:
                    return await message
                finally:
                    self._leave(limit)
        except TimeoutError:
            if not limit.expired():
                raise
            raise RequestNotSent(
                f"the call's message was not sent within {self._within_ms} ms, or more than "
                f"{self._most} calls ({self._share} of one caller) wait for theirs: send it with "
                "the call",
                _RETRY_MS,
            ) from None

    def _enter(self, limit: asyncio.Timeout, whose: str) -> None:
        self._waiting[limit] = whose
        if whose:
            own = self._by_caller.setdefault(whose, {})
            own[limit] = None
            if len(own) > self._share:
                self._end(next(iter(own)))
        if len(self._waiting) > self._most:
            self._end(next(iter(self._waiting)))

    def _end(self, limit: asyncio.Timeout) -> None:
        self._leave(limit)
        limit.reschedule(0)

    def _leave(self, limit: asyncio.Timeout) -> None:
        whose = self._waiting.pop(limit, "")
        if not whose:
            return
        own = self._by_caller[whose]
        del own[limit]
        if not own:
            del self._by_caller[whose]
