"""Seasons as events: which one runs, how the next one starts, what carries over into it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Row, bindparam, insert, select, text, update

from okey.errors import AlreadyExists, NotFound, Refused
from okey.rating import Standing, soft_reset
from okey_runtime.idempotency import ReusedKey, differing
from services.rating.old_copies import add_boards
from services.rating.schema import seasons

# One look can only miss while a start commits, and then the next one sees it.
_LOOKS: Final = 3

_NEWEST: Final = select(seasons).order_by(seasons.c.season.desc()).limit(1)
_NUMBERED: Final = select(seasons).where(seasons.c.season == bindparam("number"))


class SeasonUnknown(NotFound):
    """There was no season of that number."""

    reason = "SEASON_UNKNOWN"


class SeasonOutOfOrder(Refused):
    """Only the season after the running one can be started."""

    reason = "SEASON_OUT_OF_ORDER"


class SeasonStartedDifferently(ReusedKey, AlreadyExists):
    """The season was started with another name or share; the first start stands."""

    reason = "SEASON_STARTED_DIFFERENTLY"
    key_name = "season"


@dataclass(frozen=True, slots=True, kw_only=True)
class Season:
    """A season, and the soft reset on entering it; ``ended_ms`` is None while it runs."""

    season: int
    name: str
    keep_percent: int
    towards_milli: int
    started_ms: int
    ended_ms: int | None = None
    started_by: str = ""


def lock_running_season(connection: Connection) -> int:
    """The number of the season that runs until this transaction ends: a start waits for it."""
    return _lock_running(connection, shared=True).season


def close_reports(connection: Connection) -> None:
    """Let nobody record anything until this transaction ends."""
    _lock_seasons(connection)


def read_seasons(connection: Connection) -> list[Season]:
    """Every season, the first one first."""
    rows = connection.execute(select(seasons).order_by(seasons.c.season))
    return [_season(row) for row in rows]


def find_season(connection: Connection, number: int) -> Season:
    """The season of that number, for 0 the newest one, which runs. Raises ``SeasonUnknown``."""
    query = _NUMBERED if number else _NEWEST
    row = connection.execute(query, {"number": number} if number else {}).one_or_none()
    if row is None:
        raise SeasonUnknown(f"season {number}: there is none of that number; list the seasons")
    return _season(row)


def start_season(connection: Connection, wanted: Season) -> Season:
    """End the running season and start ``wanted``; the same start again changes nothing.

    Raises ``SeasonOutOfOrder``, ``SeasonStartedDifferently``.
    """
    _lock_seasons(connection)
    running = _lock_running(connection, shared=False)
    if wanted.season > running.season + 1:
        raise SeasonOutOfOrder(
            f"season {wanted.season} cannot start: {running.season} runs, so the next one is "
            f"{running.season + 1}"
        )
    if wanted.season <= running.season:
        return _started_before(connection, wanted)
    connection.execute(
        update(seasons).where(seasons.c.season == running.season).values(ended_ms=wanted.started_ms)
    )
    connection.execute(
        insert(seasons).values(
            season=wanted.season,
            name=wanted.name,
            keep_percent=wanted.keep_percent,
            towards_milli=wanted.towards_milli,
            started_ms=wanted.started_ms,
            started_by=wanted.started_by,
        )
    )
    add_boards(connection, wanted.season)
    return wanted


def carry_over(standing: Standing, since: int, until: int, known: Sequence[Season]) -> Standing:
    """What of a standing of season ``since`` is left in season ``until``: each reset in between."""
    for season in known:
        if since < season.season <= until:
            standing = soft_reset(standing, season.towards_milli, season.keep_percent)
    return standing


def _lock_seasons(connection: Connection) -> None:
    """Let nobody lock the running season until this transaction ends.

    Its row alone could always be shared by one more report; here they queue behind this. On SQLite
    one writer has the whole database.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE seasons IN EXCLUSIVE MODE"))


def _lock_running(connection: Connection, *, shared: bool) -> Season:
    query = (
        select(seasons)
        .where(seasons.c.ended_ms.is_(None))
        .order_by(seasons.c.season.desc())
        .limit(1)
        .with_for_update(read=shared)
    )
    for _ in range(_LOOKS):
        row = connection.execute(query).one_or_none()
        if row is not None:
            return _season(row)
    raise AssertionError("a season always runs: the schema's first one, or a started one")


def _started_before(connection: Connection, wanted: Season) -> Season:
    started = find_season(connection, wanted.season)
    compared = ("name", "keep_percent")
    differs = differing(*({n: getattr(each, n) for n in compared} for each in (started, wanted)))
    if differs:
        first = f"one that was started as {started.name!r} with {started.keep_percent} % kept"
        raise SeasonStartedDifferently(str(wanted.season), first, differs)
    return started


def _season(row: Row[*tuple[object, ...]]) -> Season:
    return Season(
        season=row.season,
        name=row.name,
        keep_percent=row.keep_percent,
        towards_milli=row.towards_milli,
        started_ms=row.started_ms,
        ended_ms=row.ended_ms,
        started_by=row.started_by,
    )
