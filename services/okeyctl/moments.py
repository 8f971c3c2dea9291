"""Dates and times that people type, in every command the same way."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from services.okeyctl.ending import refuse

TIME: Final = "TIME"
"""What the help calls a value that ``named`` reads."""


@dataclass(frozen=True, slots=True)
class Named:
    """What a text names: a whole day, or one moment. Milliseconds since the epoch."""

    first_ms: int
    """When it begins."""
    end_ms: int
    """When it is over: for a day, the next midnight; for a moment, the moment itself."""


def named(option: str, text: str) -> Named:
    """The day or moment of a text.

    A bare date is the whole day in UTC; a time of day needs its zone. Ends the command where the
    text is neither.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        first, length = _moment(option, text), timedelta()
    else:
        first, length = datetime(day.year, day.month, day.day, tzinfo=UTC), timedelta(days=1)
    first_ms = int(first.timestamp() * 1000)
    if first_ms < 0:
        refuse(f"{option} {text!r} is before 1970: nothing is as old")
    return Named(first_ms, first_ms + length // timedelta(milliseconds=1))


def span_ms(since: str | None, until: str | None) -> tuple[int, int]:
    """From when, and until when (excluded), of ``--from`` and ``--until``; 0 where one is left out.

    Ends the command where the end comes before the start.
    """
    start = None if since is None else named("--from", since)
    end = None if until is None else named("--until", until)
    if start and end and start.first_ms > max(end.first_ms, end.end_ms - 1):
        refuse(f"--from {since} is after --until {until}: give the earlier one to --from")
    return start.first_ms if start else 0, end.end_ms if end else 0


def _moment(option: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        refuse(f"{option} {text!r} is no time: write 2026-12-01 or 2026-12-01T10:00:00Z")
    if moment.tzinfo is None:
        refuse(f"{option} {text!r} has no time zone: add Z for UTC, or its offset as +03:00")
    return moment
