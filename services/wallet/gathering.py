"""Commands gathered into transactions: while one is under way, the next gather.

There is no fixed wait, so a quiet wallet carries each out at once and a busy one many together.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from copy import copy
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from okey_runtime.database import DatabaseBusy
from services.wallet.command import Command

_MOST_WAITING: Final = 4_096

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Request:
    """A command under its key; ``has_token`` says that a token named who asks."""

    key: str
    command: Command
    has_token: bool = True


Carry = Callable[[Sequence[Request]], Awaitable[Sequence[Answer]]]
"""Carries requests out, in one transaction; an answer each, in order."""


class Gathering(Generic[Answer]):
    """Hands requests on: ``lanes`` lots at a time, each of ``most`` requests at most."""

    def __init__(self, carry: Carry[Answer], *, lanes: int, most: int) -> None:
        self._carry = carry
        self._most = most
        self._free_lanes = lanes
        self._waiting: dict[asyncio.Future[Answer], Request] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def ask(self, request: Request) -> Answer:
        """The request's answer. A caller who goes before it is begun takes it back.

        Raises ``DatabaseBusy``, or what carrying it out raises.
        """
        if len(self._waiting) >= _MOST_WAITING:
            raise DatabaseBusy(f"{_MOST_WAITING} requests wait for the ledger; try again later")
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[answer] = request
        if self._free_lanes:
            self._free_lanes -= 1
            # In a context of its own: it works for others too.
            task = asyncio.create_task(self._lane(), context=Context())
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        try:
            return await answer
        finally:
            self._waiting.pop(answer, None)

    async def _lane(self) -> None:
        try:
            while lot := self._next():
                await self._answer(lot)
        finally:
            self._free_lanes += 1

    def _next(self) -> dict[asyncio.Future[Answer], Request]:
        """The first who wait, but for those who have gone."""
        lot: dict[asyncio.Future[Answer], Request] = {}
        while self._waiting and len(lot) < self._most:
            answer = next(iter(self._waiting))
            request = self._waiting.pop(answer)
            if not answer.done():
                lot[answer] = request
        return lot

    async def _answer(self, lot: dict[asyncio.Future[Answer], Request]) -> None:
        [answers] = await asyncio.gather(self._carry([*lot.values()]), return_exceptions=True)
        for place, future in enumerate(lot):
            if future.done():
                continue
            if isinstance(answers, BaseException):
                future.set_exception(_own(answers) if len(lot) > 1 else answers)
            else:
                future.set_result(answers[place])


def _own(error: BaseException) -> BaseException:
    """The error for one of several callers: raised in all, it would gather their tracebacks."""
    own = copy(error)
    own.__cause__ = error
    return own
