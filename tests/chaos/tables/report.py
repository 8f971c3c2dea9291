"""What a run came to, for people (Markdown) and for machines (JSON)."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Final

from okey.table import events as e
from tests.chaos.tables.checker import CHECKS
from tests.chaos.tables.history import ClientHistory, Ended, Finding, History, Opened, Update

BACK: Final = "back after every fault"
AUDIT: Final = "okeyctl audit green"
_TITLES: Final = {
    "tables": "engine and database die",
    "cluster": "engines, database, Valkey and network fail",
}
_COMMANDS: Final = {"tables": "chaos-tables", "cluster": "chaos"}
_SHOWN_FINDINGS: Final = 200


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run was asked for; the same settings choose the same tables, scripts and faults."""

    tables: int
    minutes: float
    seed: int
    clock_factor: int
    turn_timeout_ms: int
    name: str = "tables"
    """What was run; also the beginning of the report's file name."""


@dataclass(frozen=True, slots=True)
class Back:
    """How long after an outage the first command was accepted again."""

    fault: str
    after_ms: int


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run; ``figures`` are counts that show that the checks had something to look at."""

    settings: Settings
    figures: Mapping[str, int]
    faults: Mapping[str, int]
    backs: Sequence[Back]
    ends: Mapping[str, int]
    refusals: Mapping[str, int]
    findings: Sequence[Finding]

    @property
    def is_green(self) -> bool:
        """Whether every promise was kept."""
        return not self.findings

    def by_check(self) -> dict[str, int]:
        """How many findings each check has."""
        counts = Counter(finding.check for finding in self.findings)
        return {check: counts[check] for check in (*CHECKS, BACK, AUDIT)}


def figures_of(history: History, load_cpu_ms: int, check_cpu_ms: int) -> dict[str, int]:
    """How much was seen and checked."""
    rows = [row for rows in history.rows.values() for row in rows]
    events = Counter(type(event) for row in rows for event in row.events)
    heard = [heard for client in history.clients for heard in client.heard]
    asked = [asked for client in history.clients for asked in client.asked]
    spectators = sum(client.is_spectator for client in history.clients)
    resumed = sum(isinstance(each, Opened) and each.after_seq is not None for each in heard)
    return {
        "tables": len(history.rows),
        "players": len(history.clients) - spectators,
        "spectators": spectators,
        "stored rows": len(rows),
        "messages heard": sum(not isinstance(each, Opened | Ended) for each in heard),
        "rows heard": sum(isinstance(each, Update) for each in heard),
        "streams opened": sum(isinstance(each, Opened) for each in heard),
        "streams resumed by cursor": resumed,
        "commands acknowledged": sum(bool(each.seqs) for each in asked),
        "commands sent again": sum(bool(each.errors) for each in asked),
        "commands repeated after their answer": sum(len(each.seqs) > 1 for each in asked),
        "commands refused": sum(bool(each.refusal) for each in asked),
        "commands of unknown end": sum(not each.seqs and not each.refusal for each in asked),
        "take-overs": events[e.TableTakenOver],
        "turns slept through": sum(len(client.overslept) for client in history.clients),
        "time-outs": events[e.TurnTimedOut],
        "stand-ins": events[e.StandInSeated],
        "returns": events[e.PlayerReturned],
        "forfeits": events[e.SeatForfeited],
        "rounds dealt": events[e.RoundDealt],
        "matches ended": events[e.MatchEnded],
        "settlements booked": sum(n for (kind, _), n in history.booked.items() if kind == "settle"),
        "clients did not run (ms)": sum(stop.length_ms for stop in history.own_stops),
        "CPU of all clients (ms)": load_cpu_ms,
        "CPU of the checks (ms)": check_cpu_ms,
    }


def ends_of(clients: Sequence[ClientHistory]) -> dict[str, int]:
    """Why streams ended, the commonest first."""
    reasons = Counter(
        heard.reason.removeprefix("STREAM_END_REASON_")
        for client in clients
        for heard in client.heard
        if isinstance(heard, Ended)
    )
    return dict(reasons.most_common())


def refusals_of(clients: Sequence[ClientHistory]) -> dict[str, int]:
    """Why commands were refused, the commonest first."""
    return dict(
        Counter(
            asked.refusal for client in clients for asked in client.asked if asked.refusal
        ).most_common()
    )


def write(report: Report, folder: Path) -> Path:
    """Write both forms; the Markdown file."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = report.settings
    stem = f"{settings.name}-{settings.tables}-seed-{settings.seed}"
    document = asdict(report) | {"is_green": report.is_green, "by_check": report.by_check()}
    (folder / f"{stem}.json").write_text(json.dumps(document, indent=2) + "\n")
    path = folder / f"{stem}.md"
    path.write_text("\n".join(_markdown(report)) + "\n")
    return path


def _markdown(report: Report) -> list[str]:
    settings = report.settings
    verdict = "every promise was kept" if report.is_green else f"{len(report.findings)} findings"
    again = f"make {_COMMANDS[settings.name]} TABLES={settings.tables}"
    again += f" MINUTES={settings.minutes:g} SEED={settings.seed}"
    lines = [
        f"# {settings.tables} tables while {_TITLES[settings.name]}: {verdict}",
        "",
        f"Seed {settings.seed}, {settings.minutes:g} minutes of faults, turns of "
        f"{settings.turn_timeout_ms} ms, clocks {settings.clock_factor} times as fast as in play. "
        f"Again: `{again}`.",
    ]
    lines += _table("Promises", ("promise", "findings"), report.by_check())
    lines += _table("Faults", ("fault", "times"), report.faults)
    lines += ["", "## Back after a fault", "", *_backs(report.backs)]
    lines += _table("Seen", ("what", "how many"), report.figures)
    lines += _table("Ends of streams", ("reason", "times"), report.ends)
    lines += _table("Refusals", ("reason", "times"), report.refusals)
    if report.findings:
        lines += ["", "## Findings", ""]
        lines += [f"- {finding}" for finding in report.findings[:_SHOWN_FINDINGS]]
        if len(report.findings) > _SHOWN_FINDINGS:
            lines.append(f"- … {len(report.findings)} in all, the others in the JSON file")
    return lines


def _table(title: str, head: tuple[str, str], rows: Mapping[str, int]) -> list[str]:
    lines = ["", f"## {title}", "", f"| {head[0]} | {head[1]} |", "|---|---:|"]
    return lines + [f"| {name} | {count:,} |" for name, count in rows.items()]


def _backs(backs: Sequence[Back]) -> list[str]:
    """From the end of the outage to the first accepted command, by kind of fault."""
    lines = ["| fault | times | median (ms) | longest (ms) |", "|---|---:|---:|---:|"]
    for fault in sorted({back.fault for back in backs}):
        times = [back.after_ms for back in backs if back.fault == fault]
        lines.append(f"| {fault} | {len(times)} | {median(times):,.0f} | {max(times):,} |")
    return lines


def audit_finding(status: int, told: str) -> list[Finding]:
    """What the audit's status says."""
    return [] if status == 0 else [Finding(AUDIT, "", "", f"status {status}: {told.strip()}")]
