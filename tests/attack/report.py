"""What the attacks cost, for the terminal, as JSON and as Markdown.

``python -m tests.attack.report before.json after.json`` prints the table of both reports, for
docs/security.md.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tests.attack.catalogue import CATALOGUE
from tests.attack.judge import Quiet, Verdict
from tests.bench.engine_report import Sheet

HEADS: Final = (
    *("attack", "sent", "memory", "CPU", "players' p99", "log lines of a kind", "verdict"),
)


def sheet_of(verdicts: Sequence[Verdict], quiet: Quiet) -> Sheet:
    """One row an attack, its worst victim in each column."""
    low, high = quiet.p99_range_ms
    title = (
        f"Attacks; quiet p99 {quiet.p99_ms:.0f} ms ({low:.0f} to {high:.0f} in {quiet.windows} "
        f"windows of {quiet.commands} commands), other programs {quiet.others_cores:.1f} cores"
    )
    return Sheet(title, HEADS, [_row(each) for each in verdicts])


def _row(verdict: Verdict) -> tuple[str, ...]:
    lines = f"{verdict.lines} ({verdict.lines_of})" if verdict.lines else "1 at most"
    return (
        verdict.name,
        sent(verdict.spent),
        f"{verdict.growth_bytes / 2**20:,.0f} MiB {verdict.growth_of}",
        f"{verdict.cpu_s:.1f} s {verdict.cpu_of}",
        f"{verdict.p99_ms / verdict.quiet_p99_ms:.1f} x, {verdict.p99_ms:.0f} ms",
        lines.replace("|", "/"),
        "holds" if verdict.holds else ", ".join(verdict.broken),
    )


def sent(spent: Mapping[str, Any]) -> str:
    """What the attacker sent, in words."""
    size = float(spent.get("bytes_sent", 0))
    text = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
    connections, requests = int(spent.get("connections", 0)), int(spent.get("requests", 0))
    parts = [text] if size else []
    parts += [f"{connections:,} connections"] if connections else []
    parts += [f"{requests:,} requests"] if requests else []
    return ", ".join(parts) or "nothing"


def write(folder: Path, verdicts: Sequence[Verdict], quiet: Quiet) -> None:
    """``attack.json`` and ``attack.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "attack.md").write_text(sheet_of(verdicts, quiet).markdown())
    told = {
        "quiet": asdict(quiet) | {"lines_per_s": _keyed(quiet.lines_per_s)},
        "attacks": [asdict(each) | {"holds": each.holds} for each in verdicts],
    }
    (folder / "attack.json").write_text(json.dumps(told, indent=1))


def _keyed(lines: Mapping[tuple[str, str], float]) -> Mapping[str, float]:
    return {f"{name}: {kind}": rate for (name, kind), rate in lines.items()}


def side_by_side(before: Path, after: Path | None) -> str:
    """Two reports as one table; a dash where one of them has no such attack."""
    reports = [_read(before), _read(after) if after else {}]
    rows: list[tuple[str, ...]] = [("attack", "what", "sent", "before", "after"), ("---",) * 5]
    for name, kind in CATALOGUE.items():
        found = [report.get(name) for report in reports]
        newest = found[1] or found[0]
        if newest is not None:
            rows.append((f"`{name}`", kind.what, sent(newest["spent"]), *map(_cell, found)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _read(path: Path) -> Mapping[str, Mapping[str, Any]]:
    return {each["name"]: each for each in json.loads(path.read_text())["attacks"]}


def _cell(attack: Mapping[str, Any] | None) -> str:
    """The worst of an attack; what broke a limit in bold."""
    if attack is None:
        return "–"
    broken = list(attack["broken"])
    figures = {
        "memory": f"{attack['growth_bytes'] / 2**20:,.0f} MiB {attack['growth_of']}",
        "CPU": f"{attack['cpu_s']:.1f} s {attack['cpu_of']}",
        "p99": f"{attack['p99_ms'] / attack['quiet_p99_ms']:.1f} x",
    }
    if "log" in broken:
        figures["log"] = f"{attack['lines']} lines, {attack['lines_of']}"
    shown = [f"**{text}**" if name in broken else text for name, text in figures.items()]
    shown += [f"**{why}**" for why in broken if why not in figures]
    return ", ".join(shown).replace("|", "/")


if __name__ == "__main__":
    sys.stdout.write(
        side_by_side(*map(Path, (*sys.argv[1:3],)), *([None] * (3 - len(sys.argv)))) + "\n"
    )
