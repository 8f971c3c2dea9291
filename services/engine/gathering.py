"""Questions that are asked at about the same time go to the database together.

As rows are gathered into one commit, so is what many tables ask at once, such as those that came
from another engine: a statement costs about as much for thirty tables as for one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from services.engine.caught import Caught

MOST_KEYS: Final = 32
"""Few enough that what comes of one answer keeps nobody waiting for long."""

_AT_ONCE: Final = 2
"""While one answer is worked on, the next is read."""

K = TypeVar("K")
V = TypeVar("V")


class Gathering(Generic[K, V]):
    """Asks for single keys, many at once."""

    def __init__(
        self, read: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]], most: int = MOST_KEYS
    ) -> None:
        """``read`` gives a value for each key; it is asked for ``most`` of them at once."""
        self._read = read
        self._most = most
        self._waiting: list[tuple[K, asyncio.Future[V]]] = []
        self._readers: set[asyncio.Task[None]] = set()

    async def ask(self, key: K) -> V:
        """The key's value. Raises what reading it raises, perhaps together with others."""
        answer: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, answer))
        if len(self._readers) < _AT_ONCE:
            # It begins once everybody has asked whose turn it is before.
            reader = asyncio.create_task(self._until_answered())
            self._readers.add(reader)
            reader.add_done_callback(self._readers.discard)
        return await answer

    async def close(self) -> None:
        """Ask no more; nobody waits for an answer any longer."""
        readers = list(self._readers)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
        for _, answer in self._waiting:
            answer.cancel()
        self._waiting.clear()

    async def _until_answered(self) -> None:
        while self._waiting:
            asked, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            try:
                await self._answer(asked)
            finally:
                for _, answer in asked:
                    answer.cancel()  # nothing, where there is an answer

    async def _answer(self, asked: Sequence[tuple[K, "asyncio.Future[V]"]]) -> None:
        found: Mapping[K, V] = {}
        with Caught() as caught:
            found = await self._read([key for key, _ in asked])
        for key, answer in asked:
            if answer.done():
                continue  # whoever asked has gone
            if caught.error is not None:
                answer.set_exception(caught.error)
                continue
            answer.set_result(found[key])
            # What comes of it may take a while: others have their turn between.
            await asyncio.sleep(0)
