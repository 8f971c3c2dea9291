"""The actors that run here, and for a while those of tables that were closed last."""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Iterator
from typing import Final

from services.engine.actor import TableActor
from services.engine.counting import count_table, uncount_table
from services.engine.shards import shard_of

_KEPT_CLOSED: Final = 128


class Actors:
    """By table; each with the task that runs it."""

    def __init__(self) -> None:
        self._live: dict[str, TableActor] = {}
        self._closed: OrderedDict[str, TableActor] = OrderedDict()
        self._runs: dict[TableActor, asyncio.Task[None]] = {}

    def __contains__(self, table_id: str) -> bool:
        return table_id in self._live

    def __iter__(self) -> Iterator[TableActor]:
        return iter([*self._live.values(), *self._closed.values()])

    def live(self, table_id: str) -> TableActor | None:
        """The table's actor, unless nothing is left to do for it."""
        return self._live.get(table_id)

    def get(self, table_id: str) -> TableActor | None:
        """The table's actor, also of one that was closed lately."""
        if table_id in self._closed:
            self._closed.move_to_end(table_id)
        return self._live.get(table_id) or self._closed.get(table_id)

    def all_live(self) -> list[TableActor]:
        """Those of tables with something left to do, by id."""
        return [actor for _, actor in sorted(self._live.items())]

    def of_shards(self, shards: Collection[int]) -> list[TableActor]:
        """Those of tables of these shards with something left to do."""
        return [actor for table_id, actor in self._live.items() if shard_of(table_id) in shards]

    def run(self, actor: TableActor) -> None:
        """Let it decide."""
        self._live[actor.table_id] = actor
        count_table(actor.state)
        self._runs[actor] = asyncio.create_task(actor.run(), name=actor.table_id)

    def is_live(self, actor: TableActor) -> bool:
        """Whether it is the table's, and was not let go meanwhile."""
        return self._live.get(actor.table_id) is actor

    def stop(self, actor: TableActor) -> None:
        """Let it go."""
        if self.is_live(actor):
            del self._live[actor.table_id]
            uncount_table(actor.state)
            self._runs.pop(actor).cancel()

    async def finished(self, actors: Collection[TableActor]) -> None:
        """Return once each has answered the command that is under way, of those that will decide no
        more.
        """
        runs = [self._runs[actor] for actor in actors if actor in self._runs]
        if runs:
            await asyncio.wait(runs)

    def retire(self, actor: TableActor) -> None:
        """Nothing is left to do for it: it stays readable until others have closed since."""
        del self._live[actor.table_id]
        uncount_table(actor.state)
        self._forget(actor.table_id)  # of two, the one that was loaded last
        self._closed[actor.table_id] = actor
        while len(self._closed) > _KEPT_CLOSED:
            self._forget(next(iter(self._closed)))

    def forget_closed(self, shards: Collection[int]) -> None:
        """Closed tables of these shards are read elsewhere."""
        for table_id in [each for each in self._closed if shard_of(each) in shards]:
            self._forget(table_id)

    async def close(self) -> None:
        """Stop all of them."""
        runs = list(self._runs.values())
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)

    def _forget(self, table_id: str) -> None:
        actor = self._closed.pop(table_id, None)
        if actor is not None:
            self._runs.pop(actor).cancel()
