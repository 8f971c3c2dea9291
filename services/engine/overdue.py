"""Tables past their deadline: whatever has kept their clock from ringing.

Noted apart from timers and actors, so that a table that nobody works on is still seen.
"""

from collections.abc import Collection, Iterable
from typing import Final

from okey.table.commands import Timer
from okey_runtime.clock import Clock
from services.engine.journal import Unretired
from services.engine.maintenance import Maintenance
from services.engine.metrics import OVERDUE
from services.engine.quarantine import Quarantine
from services.engine.shards import shard_of

LATE_MS: Final = 5_000
"""How late a clock must be to count; one rings within milliseconds."""


class Overdue:
    """When the next clock of each of our tables rings, whether or not the table is in memory."""

    def __init__(self, clock: Clock, quarantine: Quarantine, maintenance: Maintenance) -> None:
        """A table that one of these has stopped is not counted: that shows elsewhere."""
        self._clock = clock
        self._quarantine = quarantine
        self._maintenance = maintenance
        self._deadlines: dict[str, int] = {}
        OVERDUE.set_function(self.count)

    def follow(self, table_id: str, timers: Iterable[Timer]) -> None:
        """These clocks run at the table from now on."""
        self._note(table_id, min((timer.deadline_ms for timer in timers), default=0))

    def add(self, tables: Iterable[Unretired]) -> None:
        """These tables have come to this engine."""
        for table in tables:
            self._note(table.table_id, table.deadline_ms or 0)

    def forget(self, table_id: str) -> None:
        """The table is no more."""
        self._deadlines.pop(table_id, None)

    def forget_shards(self, shards: Collection[int]) -> None:
        """Other engines have the tables of these shards."""
        for table_id in [each for each in self._deadlines if shard_of(each) in shards]:
            del self._deadlines[table_id]

    def count(self) -> int:
        """How many tables are past their deadline; any thread may ask."""
        late_ms = self._clock.now_ms() - LATE_MS
        late = [table_id for table_id, ms in list(self._deadlines.items()) if ms < late_ms]
        return sum(
            table_id not in self._quarantine.tables and not self._maintenance.has_held(table_id)
            for table_id in late
        )

    def _note(self, table_id: str, deadline_ms: int) -> None:
        if deadline_ms:
            self._deadlines[table_id] = deadline_ms
        else:
            self._deadlines.pop(table_id, None)
