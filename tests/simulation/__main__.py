"""Play simulated matches: ``python -m tests.simulation [--seed N] [--matches M] [--trace]``.

Ends with 1 if anything was found wrong; each finding names the seed that shows it again.
"""

import argparse
import os
import sys
from collections import Counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.simulation.batch import outcomes
from tests.simulation.run import TABLES, Outcome, run


def report(outcome: Outcome) -> str:
    """What is wrong with a run, and how to see it again; empty where nothing is."""
    if not outcome.findings:
        return ""
    lines = "\n".join(f"  {finding}" for finding in outcome.findings)
    return (
        f"seed {outcome.seed}: {len(outcome.findings)} findings\n{lines}\n"
        f"  again: python -m tests.simulation --seed {outcome.seed} --tables {outcome.tables}"
        " --trace"
    )


def main() -> int:
    """Play and tell; the exit status."""
    asked = _arguments()
    console = Console()
    if asked.trace:
        outcome = run(
            asked.seed, asked.tables, tell=lambda text: console.print(text, highlight=False)
        )
        console.print(report(outcome) or f"seed {outcome.seed}: all is right", highlight=False)
        return int(bool(outcome.findings))
    counts: Counter[str] = Counter()
    wrong = 0
    columns = (TextColumn("matches"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=asked.matches)
        for outcome in outcomes(asked.seed, asked.matches, asked.jobs, asked.tables):
            counts += outcome.counts
            progress.advance(bar, outcome.counts["matches"])
            if text := report(outcome):
                wrong += 1
                progress.console.print(text, highlight=False, markup=False)
    told = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
    console.print(f"{told}\n{wrong} runs with findings", highlight=False)
    return int(bool(wrong))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", type=int, default=1, help="the first run's (default 1)")
    parser.add_argument("--matches", type=int, default=200, help="at least so many (default 200)")
    parser.add_argument("--tables", type=int, default=TABLES, help=f"of a run (default {TABLES})")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--trace", action="store_true", help="one run, and all that happens in it")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
