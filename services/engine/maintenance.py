"""Maintenance: no new tables and matches; count-downs that are over wait until it ends."""

from collections.abc import Callable

from okey.table.commands import Timer, TimerKind


class Maintenance:
    """Whether it is on, and the count-downs that wait for its end."""

    def __init__(self, ring: Callable[[str, Timer], None]) -> None:
        """``ring`` is called with each that has waited."""
        self.is_on = False
        self._ring = ring
        self._held: dict[str, Timer] = {}

    def holds(self, table_id: str, timer: Timer) -> bool:
        """Whether a clock that is due waits; whoever sits there may leave meanwhile."""
        is_held = self.is_on and timer.kind is TimerKind.COUNTDOWN
        if is_held:
            self._held[table_id] = timer
        return is_held

    def has_held(self, table_id: str) -> bool:
        """Whether a count-down of the table waits."""
        return table_id in self._held

    def forget(self, table_id: str) -> None:
        """The table is let go."""
        self._held.pop(table_id, None)

    def follow(self, is_on: bool) -> None:
        """It is on or off from now on."""
        self.is_on = is_on
        while self._held and not is_on:
            self._ring(*self._held.popitem())
