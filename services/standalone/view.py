"""What a person sees of a running platform: lines as things happen, and on a terminal, for a
cluster, a table of its processes that stays up to date.
"""

from collections import deque
from datetime import datetime
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from okey_runtime.clock import Clock
from services.standalone.child import Child
from services.standalone.looking import Looked, Looking, State
from services.standalone.supervisor import Life, Supervisor

_EVERY_MS: Final = 1_000
_EVENTS_SHOWN: Final = 8
_RECENT_MS: Final = 60_000
_NUMBERS: Final = ("pid", "shards", "tables", "lease")
_STYLES: Final = {
    State.READY: "green",
    State.NOT_READY: "yellow",
    State.SILENT: "red",
    State.DOWN: "bold red",
}


class Screen:
    """Tells the person at the terminal; with ``has_table`` and a terminal, in place."""

    def __init__(self, console: Console, *, has_table: bool = False) -> None:
        self._console = console
        self._has_table = has_table and console.is_terminal
        self._events: deque[str] = deque(maxlen=_EVENTS_SHOWN)
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def say(self, text: str) -> None:
        """Tell one thing: as a line, or below the table once that is shown."""
        if self._live is None:
            self._console.print(Text(text), soft_wrap=True)
            self._console.file.flush()
        else:
            first = text.partition("\n")[0]
            self._events.append(f"{datetime.now().astimezone():%H:%M:%S} {first}")

    async def show(self, supervisor: Supervisor, clock: Clock) -> None:
        """Keep the table up to date until cancelled; where there is none, only wait."""
        if not self._has_table:
            await supervisor.failed()
            return
        try:
            async with Looking(supervisor.children) as looking:
                with Live(console=self._console, auto_refresh=False) as self._live:
                    while True:
                        due_ms = clock.monotonic_ms() + _EVERY_MS
                        looked = await looking.look()
                        shown = render(supervisor, looked, clock.monotonic_ms(), self._events)
                        self._live.update(shown, refresh=True)
                        await clock.sleep_until_ms(due_ms)
        finally:
            self._end()

    def _end(self) -> None:
        self._live = None


def render(supervisor: Supervisor, looked: Looked, now_ms: int, events: "deque[str]") -> Group:
    """The table, who owns what in a line, and what happened last."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("process", "address", "pid", "state", "shards", "tables", "lease"):
        table.add_column(heading, justify="right" if heading in _NUMBERS else "left")
    table.add_column("died", no_wrap=True)
    for child in supervisor.children:
        life = supervisor.lives[child.plan.name]
        table.add_row(*_row(child, life, looked, now_ms))
    lines = [Text(each) for each in (*looked.summary, *events)]
    return Group(table, Text(""), *lines)


def _row(child: Child, life: Life, looked: Looked, now_ms: int) -> tuple[str | Text, ...]:
    name = child.plan.name
    state = looked.states.get(name, State.DOWN)
    member = looked.members.get(name)
    owned = ("", "", "")
    if member is not None:
        lease = f"{member.lease_left_ms / 1000:.1f} s" if member.lease_left_ms else "ended"
        owned = (
            f"{member.shards}",
            f"{member.tables}",
            lease if member.is_taking else "takes none",
        )
    return (
        name,
        child.plan.ports.address,
        str(child.pid),
        Text(state, _STYLES[state]),
        *owned,
        _died(life, now_ms),
    )


def _died(life: Life, now_ms: int) -> Text:
    if not life.restarts and not life.last_end:
        return Text("")
    ago_s = (now_ms - life.ended_ms) // 1000
    style = "red" if now_ms - life.ended_ms < _RECENT_MS else "dim"
    return Text(f"{life.restarts}x, {life.last_end} {ago_s} s ago", style)
