"""A diagnosis for a person, or for a machine."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from services.okeyctl.doctor.judge import Finding, State
from services.okeyctl.doctor.observe import Observed, Seen

_STYLES: Final = {State.OK: "green", State.WARNING: "yellow", State.WRONG: "bold red"}


def is_well(findings: Sequence[Finding]) -> bool:
    """Whether nothing is wrong; warnings are for somebody to look at."""
    return all(finding.state is not State.WRONG for finding in findings)


def show(observed: Observed, findings: Sequence[Finding], out: Console, *, is_whole: bool) -> None:
    """The processes, what is not as it should be (everything if asked for), and the verdict."""
    processes = Table("process", "address", "version", "state", box=None, pad_edge=False)
    for seen in observed.seen:
        version = seen.status.version if seen.status is not None else ""
        processes.add_row(seen.name, seen.address, version, _state(seen))
    out.print(processes)
    out.print()
    for finding in findings:
        if is_whole or finding.state is not State.OK:
            _show_one(finding, out)
    out.print(verdict(findings))


def _show_one(finding: Finding, out: Console) -> None:
    line = Text(f"{finding.state.upper():<8}", _STYLES[finding.state])
    line.append(f"{finding.check}, {finding.where}: ", "bold")
    line.append(finding.text, "")
    out.print(line, soft_wrap=True)
    if finding.advice:
        out.print(Text(f"        do: {finding.advice}"), soft_wrap=True)


def _state(seen: Seen) -> Text:
    if seen.unreachable:
        return Text("unreachable", "red")
    if seen.silent:
        return Text("no answer", "red")
    return Text("ready", "green") if seen.is_ready else Text("not ready", "yellow")


def verdict(findings: Sequence[Finding]) -> str:
    """The diagnosis in a line."""
    counts = Counter(finding.state for finding in findings)
    told = (
        f"{len(findings)} checks: {counts[State.WRONG]} wrong, {counts[State.WARNING]} to look at"
    )
    return f"{told}." if counts[State.WRONG] or counts[State.WARNING] else f"{told}. All is well."


def as_json(observed: Observed, findings: Sequence[Finding]) -> str:
    """The diagnosis as one JSON object."""
    document = {
        "is_well": is_well(findings),
        "processes": [
            {
                "service": seen.kind,
                "name": seen.name,
                "address": seen.address,
                "version": seen.status.version if seen.status is not None else "",
                "is_ready": seen.is_ready,
                "figures": dict(seen.status.figures) if seen.status is not None else {},
            }
            for seen in observed.seen
        ],
        "findings": [
            {
                "check": finding.check,
                "where": finding.where,
                "state": finding.state,
                "text": finding.text,
                "advice": finding.advice,
            }
            for finding in findings
        ],
    }
    return json.dumps(document, indent=2)
