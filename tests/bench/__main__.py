"""`make bench`: how long the core's work takes, each beside a reference loop in the same run.

Every figure is the median of five passes; the cases take turns, so that a machine whose speed
drifts slows all of them alike. What compares between machines is the ratio to the reference loop.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

from okey.bots.choose import choose
from okey.rules.deal import DealContext, shuffle
from okey.rules.variant import Variant
from okey.simulation.play import simulate
from okey.table import commands as c
from okey.table.config import TableConfig
from okey.table.decide import step
from okey.table.state import TableState
from services.engine.wire import view_message
from tests.factories import Driver, canak, paid, seed

PASSES: Final = 5
CANAK: Final = TableConfig("t")
KLASIK: Final = TableConfig("t", variant=Variant.KLASIK, start_points=3)


@dataclass(frozen=True)
class Case:
    """Something measured: ``run`` does ``units`` pieces of work in one pass."""

    name: str
    unit: str
    units: int
    run: Callable[[], object]


def reference_loop() -> int:
    """What everything is compared with: 10,000 additions in plain Python."""
    total = 0
    for number in range(10_000):
        total += number
    return total


def shuffles(count: int) -> None:
    """Deal from seeds that differ."""
    for number in range(count):
        shuffle(seed(number), DealContext("t", 1, number + 1, (b"",) * 4))


def moves(table: Driver, count: int) -> None:
    """Draw from the stock and discard just that, turn after turn, always from the same state."""
    state: TableState = table.state
    context = c.Context(table.now_ms, lambda: c.seal(seed(1)))
    for _ in range(count // 2):
        running = state.round
        assert running is not None
        assert running.turn is not None
        turn = running.turn
        player = state.seats[turn.seat].player
        if turn.drawn is None:
            drawing = c.PlayerMove(player, turn.number, c.Draw(c.DrawSource.STOCK))
            state = step(state, drawing, context)[1]
        tile = running.stock[0] if turn.drawn is None else turn.drawn
        state = step(state, c.PlayerMove(player, turn.number, c.Discard(tile)), context)[1]


def views(table: Driver, count: int) -> None:
    """Make the message of one seat's view."""
    for _ in range(count):
        view_message(table.state, 0, 1, table.now_ms, {})


def matches(config: TableConfig, count: int) -> None:
    """Play whole matches between bots, with the ledger."""
    simulate(config, count, 1, choose)


def cases() -> list[Case]:
    """Everything that is measured."""
    table = paid(canak(4))
    table.start()
    return [
        Case("reference loop", "loop", 100, lambda: [reference_loop() for _ in range(100)]),
        Case("deal from seed and nonces", "deal", 50, partial(shuffles, 50)),
        Case("move at a table", "move", 80, partial(moves, table, 80)),
        Case("seat view as a message", "view", 200, partial(views, table, 200)),
        Case("Çanak match between 4 bots", "match", 5, partial(matches, CANAK, 5)),
        Case("Klasik match between 4 bots", "match", 3, partial(matches, KLASIK, 3)),
    ]


def main() -> None:
    """Measure and print."""
    console = Console(width=max(Console().width, 100))
    measured = cases()
    spent: dict[str, list[float]] = {case.name: [] for case in measured}
    for _ in track(range(PASSES), "measuring", console=console):
        for case in measured:
            start = time.perf_counter()
            case.run()
            spent[case.name].append((time.perf_counter() - start) / case.units * 1e6)
    medians = {name: statistics.median(figures) for name, figures in spent.items()}
    sheet = Table("what", "unit", "µs, median of 5", "least", "most", "x reference loop")
    for case in measured:
        figures = spent[case.name]
        sheet.add_row(
            case.name,
            case.unit,
            f"{medians[case.name]:,.1f}",
            f"{min(figures):,.1f}",
            f"{max(figures):,.1f}",
            f"{medians[case.name] / medians['reference loop']:,.3f}",
        )
    console.print(sheet)


if __name__ == "__main__":
    main()
