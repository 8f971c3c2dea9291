"""Every statement of engine, wallet and rating service fails the first times that it is passed:
with money in it nothing is lost, nothing is done twice, and everything ends by itself.
"""

import shutil
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from okey.errors import Exhausted, Unavailable
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey_runtime import backoff
from okey_runtime.database import Database
from services.rating.rulebook import RuleBook
from services.rating.store import RatingStore
from tests.contract.rating_play import a_match
from tests.failpoints.faults import SQLITE_ERRORS, SQLSTATES, FirstPasses, watch
from tests.failpoints.runs import Files, References, fresh_on, run
from tests.failpoints.scenarios import Scenario, forfeit_and_settle, klasik_win, voided
from tests.fixtures.postgres import PostgresServer

T = TypeVar("T")

two_scenarios = pytest.mark.parametrize(
    "scenario", [voided, klasik_win], ids=lambda each: each.__name__
)
"""Between them they pass every operation of the wallet."""

WRITTEN = (
    *("engine INSERT INTO journal", "engine COMMIT", "engine UPDATE members"),
    *("engine INSERT INTO cursors", "wallet INSERT INTO journals", "wallet COMMIT"),
)
"""How the statements begin on which everything rests: they must be among those that failed."""


@pytest.fixture(autouse=True)
def quick_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_WAIT_S", 0.002)
    monkeypatch.setattr(backoff, "LAST_WAIT_S", 0.01)


def require_struck(plan: FirstPasses) -> None:
    for start in WRITTEN:
        assert any(label.startswith(start) for label in plan.struck), (start, plan.struck)


async def test_each_statement_fails_at_first_on_sqlite(
    files: Files, crash_free: References
) -> None:
    """M5: with one error after another, as many as there are statements."""
    plan = FirstPasses(SQLITE_ERRORS, times=1)
    await run(files.fresh(), voided, expected=crash_free[voided].journals, plan=plan)
    require_struck(plan)


async def test_each_statement_fails_at_first_on_postgresql(
    postgres_server: PostgresServer, crash_free: References
) -> None:
    """M5: the same, raised by the server."""
    plan = FirstPasses(SQLSTATES, times=1)
    urls = await fresh_on(postgres_server)
    await run(urls, forfeit_and_settle, expected=crash_free[forfeit_and_settle].journals, plan=plan)
    require_struck(plan)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("error", SQLITE_ERRORS)
@two_scenarios
async def test_each_error_at_each_statement_on_sqlite(
    files: Files, crash_free: References, scenario: Scenario, error: str
) -> None:
    """M5: all of them, each at every statement."""
    plan = FirstPasses([error])
    await run(files.fresh(), scenario, expected=crash_free[scenario].journals, plan=plan)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("state", SQLSTATES)
@two_scenarios
async def test_each_error_at_each_statement_on_postgresql(
    postgres_server: PostgresServer, crash_free: References, scenario: Scenario, state: str
) -> None:
    """M5: all of them, each at every statement."""
    plan, urls = FirstPasses([state]), await fresh_on(postgres_server)
    await run(urls, scenario, expected=crash_free[scenario].journals, plan=plan)


@pytest.mark.parametrize("errors", [SQLITE_ERRORS[:1], SQLITE_ERRORS], ids=["full", "each"])
async def test_each_statement_of_the_rating_service_fails_at_first(
    rating_template: Path, tmp_path: Path, errors: Sequence[str]
) -> None:
    """R1: a match that is reported until that is answered counts once, as without errors."""
    ratings: list[object] = []
    for plan in (FirstPasses(errors, times=0), FirstPasses(errors)):
        file = shutil.copy(rating_template, tmp_path / f"{len(ratings)}.db")
        database = Database(f"sqlite:///{file}")
        watch(database, "rating", plan)
        store = RatingStore(database, RuleBook(DEFAULT_RULE_SET))
        for number in range(1, 4):
            await answered(partial(store.record_match, a_match(number, "ada", "bo")))
        ratings.append([await answered(partial(store.ratings_of, p)) for p in ("ada", "bo")])
        await database.close()
    assert ratings[0] == ratings[1]
    assert any(label.startswith("rating INSERT") for label in plan.struck)


async def answered(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer; a caller that gets none asks again."""
    while True:
        try:
            return await ask()
        except (Unavailable, Exhausted):
            continue
