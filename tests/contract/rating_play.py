"""Short ways to report matches and forfeits to a rating store, and databases to keep them in."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from okey.rating import CanakWon, Departure, Outcome, Standing
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Mode, Variant
from okey_runtime.database import Database
from services.rating.record import ForfeitRecord, MatchRecord, RecordedSeat
from services.rating.rulebook import RuleBook
from services.rating.store import RatingStore
from tests.fixtures.ratings import as_migrated

TABLE = "a" * 26
START = Standing(1_200_000, 0)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """One migrated database of each kind."""
    if request.param == "sqlite":
        path = tmp_path / "rating.db"
        shutil.copy(request.getfixturevalue("rating_template"), path)
        return f"sqlite:///{path}"
    url: str = request.getfixturevalue("rating_postgres")
    return url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """The rating database, open and empty."""
    opened = Database(database_url)
    if opened.dialect == "postgresql":
        await opened.transact(as_migrated)
    yield opened
    await opened.close()


@pytest.fixture
def store(database: Database) -> RatingStore:
    return RatingStore(database, RuleBook(DEFAULT_RULE_SET))


def a_match(
    number: int,
    *players: str | None,
    outcome: Outcome | None = None,
    quitters: tuple[str, ...] = (),
    excused: tuple[str, ...] = (),
    variant: Variant = Variant.CANAK,
    mode: Mode = Mode.NORMAL,
) -> MatchRecord:
    """A match of the table; seat 0 won unless said; None is a house seat."""
    return MatchRecord(
        table_id=TABLE,
        match_id=f"{TABLE}-{number}",
        variant=variant,
        mode=mode,
        seats=tuple(
            RecordedSeat(player, _departure(player, quitters, excused)) if player else None
            for player in players
        ),
        outcome=CanakWon(0) if outcome is None else outcome,
        ended_ms=1_000_000 + number,
    )


def _departure(player: str, quitters: tuple[str, ...], excused: tuple[str, ...]) -> Departure:
    if player in quitters:
        return Departure.FORFEITED
    return Departure.EXCUSED if player in excused else Departure.NONE


def a_forfeit(
    number: int, player: str, *, seat: int = 1, variant: Variant = Variant.CANAK
) -> ForfeitRecord:
    """The player's forfeit of the table's match."""
    return ForfeitRecord(
        match_id=f"{TABLE}-{number}",
        variant=variant,
        seat=seat,
        player_id=player,
        forfeited_ms=900_000 + number,
    )
