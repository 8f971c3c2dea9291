"""Every statement of engine and wallet fails the first times that it is passed, in every scenario
with money in it: nothing is lost, nothing is done twice, and everything ends by itself.
"""

import pytest

from okey_runtime import backoff
from tests.failpoints.faults import SQLITE_ERRORS, SQLSTATES, FirstPasses
from tests.failpoints.runs import Files, References, fresh_on, run
from tests.failpoints.scenarios import SCENARIOS, Scenario, forfeit_and_settle, voided
from tests.fixtures.postgres import PostgresServer

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)

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
@every_scenario
async def test_each_error_at_each_statement_on_sqlite(
    files: Files, crash_free: References, scenario: Scenario, error: str
) -> None:
    """M5: all of them."""
    plan = FirstPasses([error])
    await run(files.fresh(), scenario, expected=crash_free[scenario].journals, plan=plan)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("state", SQLSTATES)
@every_scenario
async def test_each_error_at_each_statement_on_postgresql(
    postgres_server: PostgresServer, crash_free: References, scenario: Scenario, state: str
) -> None:
    """M5: all of them."""
    plan, urls = FirstPasses([state]), await fresh_on(postgres_server)
    await run(urls, scenario, expected=crash_free[scenario].journals, plan=plan)
