"""What the engine's measurements found, for the console and as Markdown with a picture."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib import pyplot
from rich.console import Console
from rich.table import Table

from tests.bench.engine_live import LiveFigures
from tests.bench.figures import Judged

mpl.use("Agg")

PICTURE: Final = "engine-growth.png"
_TOP: Final = 30


@dataclass(slots=True)
class Sheet:
    """A table of figures."""

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def markdown(self) -> str:
        """As Markdown."""
        lines = (self.heads, ("---",) * len(self.heads), *self.rows)
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"## {self.title}\n\n{body}\n"

    def table(self) -> Table:
        """For the console."""
        table = Table(*self.heads, title=self.title, title_justify="left")
        for row in self.rows:
            table.add_row(*row)
        return table


def judged_sheet(judged: Sequence[Judged]) -> Sheet:
    """Every figure beside its limit."""
    heads = ("what", "figure", "limit", "aim", "verdict")
    return Sheet("Limits", heads, [each.row() for each in judged])


def profile_sheets(path: Path) -> list[Sheet]:
    """The functions in which the event loop was found, innermost and as one of those around."""
    profile = json.loads(path.read_text())
    sheets = []
    for part, title in (("own", "Profile: innermost"), ("total", "Profile: with what they call")):
        sheet = Sheet(f"{title}, of {profile['samples']:,} samples", ("share", "function"))
        for name, count in sorted(profile[part].items(), key=lambda item: -item[1])[:_TOP]:
            sheet.rows.append((f"{count / profile['samples']:.1%}", name))
        sheets.append(sheet)
    return sheets


def draw_growth(figures: Sequence[LiveFigures], path: Path) -> None:
    """Memory, CPU, lateness and latency over the number of tables, in one picture."""
    tables = [each.tables for each in figures]
    plots = {
        "memory, MiB": [each.memory_bytes / 2**20 for each in figures],
        "CPU, share of a core": [each.cpu_share for each in figures],
        "clock late, p99, ms": [each.lateness_ms.p99 for each in figures],
        "command, p99, ms": [each.latency_ms.p99 for each in figures],
    }
    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7), layout="constrained")
    figure.suptitle("One engine, one command a table in 30 s, no streams")
    for axis, (name, values) in zip(axes.flat, plots.items(), strict=True):
        axis.plot(tables, values, marker="o")
        axis.set(title=name, xlabel="live tables", xscale="log", ylim=(0, None))
        axis.grid(visible=True, alpha=0.3)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def write(folder: Path, sheets: Sequence[Sheet], console: Console, *, has_picture: bool) -> None:
    """Print the sheets, and write them to ``engine.md``."""
    for sheet in sheets:
        console.print(sheet.table())
    picture = f"![growth]({PICTURE})\n" if has_picture else ""
    parts = ["# The engine, measured\n", *(sheet.markdown() for sheet in sheets), picture]
    (folder / "engine.md").write_text("\n".join(parts))
