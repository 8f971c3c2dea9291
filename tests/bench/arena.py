"""`make arena`: how strong the bots are, on deals that nothing was ever tuned on.

The lines and their seeds were fixed before the first of these deals was played; tuning uses other
seeds (``docs/bots.md``). Exit status 1 if a line is not reached. ``--deals`` shortens it.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.table import Table

from okey.arena.contest import Contest
from okey.arena.figures import Estimate, Figures
from okey.rules.variant import Mode, Variant
from services.okeyctl.arena import play, progress_bar, table_for

SEED: Final = 2026
STRONG_SEED: Final = 2027
"""Of every published figure, and of nothing else; of contests of strong, which changed after those
of the first seed had been looked at.
"""


@dataclass(frozen=True)
class Line:
    """A contest and what it must show.

    ``floor`` is the share of decided rounds to be won; without one the challenger must be better:
    the intervals of wins and of chips lie above those of equals.
    """

    challenger: str
    opponent: str
    seats: int
    deals: int
    floor: float | None = None
    variant: Variant = Variant.CANAK
    mode: Mode = Mode.NORMAL

    @property
    def seed(self) -> int:
        """Of the deals that were fixed for it."""
        return STRONG_SEED if self.challenger == "strong" else SEED

    def contest(self, seed: int) -> Contest:
        """The contest on the deals of this seed."""
        points = 5 if self.variant is Variant.KLASIK else 0
        table = table_for(self.variant, self.mode, self.seats, start_points=points)
        return Contest(table, self.challenger, self.opponent, seed)

    @property
    def name(self) -> str:
        """What a person calls it."""
        kind = f"{self.variant.name.lower()} {self.mode.name.lower()}"
        return f"{self.challenger} against {self.opponent}, {self.seats} seats, {kind}"


LINES: Final = (
    Line("normal", "random", 2, 500, floor=0.99),
    Line("strong", "neighbours", 2, 1_500, floor=0.68),
    Line("strong", "neighbours", 4, 1_500, floor=0.43),
    Line("strong", "normal", 2, 1_000),
    Line("normal", "easy", 2, 1_000),
    Line("strong", "normal", 4, 500),
    Line("normal", "easy", 4, 500),
    Line("strong", "normal", 4, 300, mode=Mode.ESLI),
    Line("strong", "normal", 2, 150, variant=Variant.KLASIK),
)


def is_reached(line: Line, figures: Figures, chance: float) -> bool:
    """Whether the figures show what the line asks for."""
    wins = figures.round_wins
    if wins is None:
        return False
    if line.floor is not None:
        return wins.value >= line.floor
    return wins.low > chance and figures.chips.low > 0


def main(arguments: Sequence[str]) -> int:
    """Play every line and print; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deals", type=int, help="at most so many deals a line")
    parser.add_argument("--workers", type=int, help="processes; else one a core")
    wishes = parser.parse_args(arguments)
    most: int | None = wishes.deals
    console = Console(width=max(Console().width, 120))
    sheet = Table(
        "contest", "deals", "decided rounds won", "asked for", "lead in chips a match", "drawn", ""
    )
    missed = 0
    for line in LINES:
        deals = line.deals if most is None else min(line.deals, most)
        contest = line.contest(line.seed)
        with progress_bar(deals) as tell:
            figures = play(contest, deals, wishes.workers, tell)
        reached = is_reached(line, figures, contest.chance)
        missed += not reached
        asked = f">= {line.floor:.0%}" if line.floor is not None else f"above {contest.chance:.0%}"
        sheet.add_row(
            line.name,
            str(deals),
            percent(figures.round_wins),
            asked,
            f"{figures.chips.value:+.1f} ({figures.chips.low:+.1f} to {figures.chips.high:+.1f})",
            f"{figures.drawn_rounds} of {figures.rounds}",
            "reached" if reached else "MISSED",
        )
    console.print(sheet)
    return 1 if missed else 0


def percent(share: Estimate | None) -> str:
    """A share with its interval."""
    if share is None:
        return "nothing decided"
    return f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
