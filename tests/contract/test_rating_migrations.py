"""What the version before had recorded is carried over as the first season."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

from okey.rating import ChangeKind, Ladder, Standing
from okey.rules.rule_set import DEFAULT_RULE_SET, RULE_SETS
from okey_runtime.database import Database
from okey_runtime.migrations import migrate
from services.rating.app import MIGRATIONS
from services.rating.rebuild import Rebuilt
from services.rating.record import content_hash
from services.rating.rulebook import RuleBook
from services.rating.store import RatingStore
from tests.contract.rating_play import a_match

# Ada beat Bo in Çanak, as version 0001 wrote it.
RECORDED = (
    "INSERT INTO records"
    " (match_id, player_id, content, content_hash, rules_version, occurred_ms)"
    " VALUES (:match, '', :content, :hash, '2026.11', 1000001)",
    "INSERT INTO ratings VALUES (1, 'ada', 1210000, 1, 2), (3, 'ada', 1210000, 1, 2)",
    "INSERT INTO ratings VALUES (1, 'bo', 1190000, 1, 2), (3, 'bo', 1190000, 1, 2)",
    "INSERT INTO ratings VALUES (2, 'ada', 1200000, 0, 0), (2, 'bo', 1200000, 0, 0)",
    "INSERT INTO history VALUES (1, 'ada', 1, 1, 1, :match, 1200000, 10000, 1000001)",
    "INSERT INTO history VALUES (3, 'ada', 1, 1, 1, :match, 1200000, 10000, 1000001)",
    "INSERT INTO history VALUES (1, 'bo', 1, 1, 1, :match, 1200000, -10000, 1000001)",
    "INSERT INTO history VALUES (3, 'bo', 1, 1, 1, :match, 1200000, -10000, 1000001)",
)
WRITTEN_BY_THE_VERSION_BEFORE = text(
    "INSERT INTO ratings (ladder, player_id, rating_milli, rated_matches, section)"
    " VALUES (1, 'cem', 1200000, 0, 0) ON CONFLICT (ladder, player_id) DO NOTHING"
)
READ_BY_THE_VERSION_BEFORE = text(
    "SELECT rating_milli, rated_matches, section FROM ratings"
    " WHERE ladder = 1 AND player_id = 'ada'"
)


def first_version() -> ModuleType:
    (path,) = (MIGRATIONS / "versions").glob("0001_*.py")
    spec = importlib.util.spec_from_file_location("first_version", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_it_was(connection: Connection) -> None:
    """The tables of version 0001 with a match in them, and alembic's note of that version."""
    with Operations.context(MigrationContext.configure(connection)):
        first_version().upgrade()
    connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
    connection.execute(text("INSERT INTO alembic_version VALUES ('0001')"))
    match = a_match(1, "ada", "bo")
    values = {
        "match": match.match_id,
        "content": match.content(),
        "hash": content_hash(match.content()),
    }
    for statement in RECORDED:
        used = {name: value for name, value in values.items() if f":{name}" in statement}
        connection.execute(text(statement), used)


@pytest.fixture(params=["sqlite", "postgresql"])
async def upgraded(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'rating.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_url")
    database = Database(url)
    await database.transact(as_it_was)
    await database.close()
    await migrate(url, MIGRATIONS)
    return url


async def test_ratings_ranks_and_history_are_those_of_before(upgraded: str) -> None:
    database = Database(upgraded)
    store = RatingStore(database, RuleBook(DEFAULT_RULE_SET, RULE_SETS.values()))
    assert (await store.ratings_of("ada"))[Ladder.OVERALL] == Standing(1_210_000, 1)
    assert (await store.rank(Ladder.CANAK, "bo")).entry.rank == 2
    (change,) = (await store.history_of(Ladder.CANAK, "bo", None, 9)).changes
    assert (change.kind, change.change_no, change.season) == (ChangeKind.MATCH, 1, 1)
    again = await store.record_match(a_match(1, "ada", "bo"))
    assert len(again.changes) == 4
    await store.record_match(a_match(2, "bo", "ada"))
    async for last in store.rebuild(repair=False):
        result = last
    assert isinstance(result, Rebuilt)
    assert (result.differences, result.records) == ([], 2)
    await database.close()


async def test_the_version_before_still_reads_and_writes_nothing(upgraded: str) -> None:
    """It would miss the counts; the engine repeats the report until a new replica answers."""
    database = Database(upgraded)
    row = await database.read(lambda each: each.execute(READ_BY_THE_VERSION_BEFORE).one())
    assert tuple(row) == (1_210_000, 1, 2)
    with pytest.raises((IntegrityError, ProgrammingError, OperationalError)):
        await database.transact(lambda each: each.execute(WRITTEN_BY_THE_VERSION_BEFORE).close())
    await database.close()
