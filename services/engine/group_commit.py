"""Rows of many tables gathered into one transaction: while one is in flight, the next gathers.

A quiet engine commits at once, a busy one in batches: between the beginnings of two commits there
are a few milliseconds, since each costs as much as twenty rows, whatever it holds.
"""

import asyncio
from typing import Final, Protocol

from okey.errors import Exhausted
from okey_runtime.clock import Clock
from okey_runtime.database import DatabaseRefused
from services.engine.appending import Append, Verdict
from services.engine.caught import Caught
from services.engine.metrics import COMMIT_ROWS, COMMIT_SECONDS

_MOST_ROWS: Final = 256
_MOST_WAITING: Final = 20_000


class TooManyWaiting(Exhausted):
    """More rows wait for the database than the engine keeps; try again later."""

    reason = "ENGINE_BUSY"


class Store(Protocol):
    """Where the rows go; ``Journal`` is the one for production."""

    async def append(self, batch: list[Append]) -> list[Verdict]:
        """Write the rows in one transaction; one verdict each, in order."""
        ...


class GroupCommit:
    """Takes single rows and commits them in batches; ``run`` must be running."""

    def __init__(self, store: Store, clock: Clock, every_ms: int = 0) -> None:
        """``every_ms`` lies at least between the beginnings of two commits."""
        self._store = store
        self._clock = clock
        self._every_s = every_ms / 1000
        self._waiting: list[tuple[Append, asyncio.Future[Verdict]]] = []
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def waiting(self) -> int:
        """How many rows wait for their turn."""
        return len(self._waiting)

    async def append(self, row: Append) -> Verdict:
        """Commit one row; returns when it is durable, or with the reason why it did not go in.

        A table has at most one row waiting at a time, so the engine's own rows are bounded by the
        tables.

        Raises:
            DatabaseAway: it is unknown whether the row went in.
            DatabaseRefused: the database does not take this row, alone.
            TooManyWaiting: a request's row was not tried.
        """
        if row.request is not None and len(self._waiting) >= _MOST_WAITING:
            raise TooManyWaiting(f"{_MOST_WAITING} rows wait for the database; try again later")
        answer: asyncio.Future[Verdict] = self._loop.create_future()
        self._waiting.append((row, answer))
        self._wake.set()
        return await answer

    async def run(self) -> None:
        """Commit batches for as long as the engine lives."""
        loop = self._loop
        next_s = loop.time()
        while True:
            await self._wake.wait()
            early_s = next_s - loop.time()
            if early_s > 0 and len(self._waiting) < _MOST_ROWS:
                await asyncio.sleep(early_s)
            next_s = loop.time() + self._every_s
            batch, self._waiting = self._waiting[:_MOST_ROWS], self._waiting[_MOST_ROWS:]
            if not self._waiting:
                self._wake.clear()
            await self._commit(batch)

    async def _commit(self, batch: list[tuple[Append, asyncio.Future[Verdict]]]) -> None:
        started_ms = self._clock.monotonic_ms()
        verdicts: list[Verdict] = []
        with Caught() as caught:
            verdicts = await self._store.append([row for row, _ in batch])
        if isinstance(caught.error, DatabaseRefused) and len(batch) > 1:
            # Whose row it is comes out when each is written alone.
            for each in batch:
                await self._commit([each])
            return
        COMMIT_SECONDS.observe((self._clock.monotonic_ms() - started_ms) / 1000)
        COMMIT_ROWS.observe(len(batch))
        for index, (_, answer) in enumerate(batch):
            if answer.done():
                continue  # whoever asked has gone
            if caught.error is not None:
                answer.set_exception(caught.error)
            else:
                answer.set_result(verdicts[index])
