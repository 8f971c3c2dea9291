"""When each engine's clocks were stopped, as the engine itself says in its log."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.chaos.tables.history import Outage

FROZEN: Final = "frozen"
_NEVER_MS: Final = 2**62


def read_freezes(engine: str, log: Path) -> list[Outage]:
    """By one engine's log, over all its lives; one that a life did not end lasts for ever."""
    freezes: list[Outage] = []
    began_ms: int | None = None
    for line in _lines(log):
        match line.get("event"):
            case "stands_still":
                if began_ms is not None:  # that life was killed in the middle of it
                    freezes.append(Outage(engine, FROZEN, began_ms, _NEVER_MS))
                began_ms = line["since_ms"]
            case "goes_on":
                ended_ms = line["since_ms"] + line["stood_ms"]
                freezes.append(Outage(engine, FROZEN, line["since_ms"], ended_ms))
                began_ms = None
    if began_ms is not None:
        freezes.append(Outage(engine, FROZEN, began_ms, _NEVER_MS))
    return freezes


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    """The lines that are JSON; a life that was killed may have left half a line."""
    for line in log.read_text("utf-8", errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue
