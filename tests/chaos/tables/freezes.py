"""When each engine's clocks were stopped, as the engine itself says in its log."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.chaos.tables.history import Outage

FROZEN: Final = "frozen"


def read_freezes(engine: str, log: Path) -> list[Outage]:
    """By one engine's log, over all its lives; where a life was killed in the middle of one, as
    much of it as was known when it was logged.
    """
    freezes: list[Outage] = []
    open_freeze: Outage | None = None
    for line in _lines(log):
        match line.get("event"):
            case "stands_still":
                freezes += filter(None, [open_freeze])
                known_ms = line["since_ms"] + line["for_ms"]
                open_freeze = Outage(engine, FROZEN, line["since_ms"], known_ms)
            case "goes_on":
                ended_ms = line["since_ms"] + line["stood_ms"]
                freezes.append(Outage(engine, FROZEN, line["since_ms"], ended_ms))
                open_freeze = None
    return [*freezes, *filter(None, [open_freeze])]


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    """The lines that are JSON; a life that was killed may have left half a line."""
    for line in log.read_text("utf-8", errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue
