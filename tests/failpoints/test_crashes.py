"""Engine or wallet crash at every failpoint of every scenario: nothing is lost, nothing twice.

In process: the crashed service object is dropped and made anew on the same database. What must hold
afterwards is in ``books.require_exactly_once``.
"""

import pytest

from tests.failpoints.runs import Files, References, fresh_on, run
from tests.failpoints.scenarios import SCENARIOS, Scenario, voided
from tests.failpoints.striking import ENGINE, WALLET, again, nth
from tests.fixtures.postgres import PostgresServer

OPERATIONS = (
    *("HoldStake", "VoidHold", "StartMatch", "ForfeitSeat"),
    *("SettleMatch", "VoidMatch", "CloseTable"),
)
STEPS = (
    *("engine.before_call", "engine.replied", "engine.told"),
    *("wallet.begun", "wallet.key_checked", "wallet.journal_inserted"),
    *("wallet.before_commit", "wallet.committed"),
)
BOTH = (ENGINE, WALLET)

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)


def labels(crash_free: References, scenario: Scenario) -> list[str]:
    """The places that the scenario passes, each once, in order."""
    return list(dict.fromkeys(crash_free[scenario].passes))


def new_labels(crash_free: References, scenario: Scenario) -> list[str]:
    """Those that no scenario before it passes."""
    earlier = SCENARIOS[: SCENARIOS.index(scenario)]
    known = {label for each in earlier for label in labels(crash_free, each)}
    return [label for label in labels(crash_free, scenario) if label not in known]


def test_the_scenarios_pass_every_step_of_every_operation(crash_free: References) -> None:
    """M5: hold, give back, start, give up, settle, void, close; on both sides of the wire."""
    passed = {label for each in SCENARIOS for label in labels(crash_free, each)}
    wanted = {f"{step} {operation}" for step in STEPS for operation in OPERATIONS}
    assert passed == wanted | {"wallet.declining HoldStake"}


@every_scenario
async def test_a_crash_at_every_failpoint_one_after_another(
    files: Files, crash_free: References, scenario: Scenario
) -> None:
    """M5: engine and wallet fall together at every place that no scenario before has passed."""
    crashes = [again(label) for label in new_labels(crash_free, scenario)]
    await run(files.fresh(), scenario, crashes, crash_free[scenario].journals, BOTH)


async def test_the_wallet_crashes_alone_on_postgresql(
    postgres_server: PostgresServer, crash_free: References
) -> None:
    """M5: before and after each commit; the engine asks again until it is answered."""
    at_commits = ("wallet.before_commit", "wallet.committed")
    crashes = [again(each) for each in labels(crash_free, voided) if each.startswith(at_commits)]
    urls = await fresh_on(postgres_server)
    await run(urls, voided, crashes, crash_free[voided].journals)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@every_scenario
async def test_a_single_crash_at_each_pass(
    files: Files, crash_free: References, scenario: Scenario
) -> None:
    """M5: every pass of every failpoint, one run each; the side that passes falls alone."""
    reference = crash_free[scenario]
    for number in range(len(reference.passes)):
        await run(files.fresh(), scenario, [nth(number)], reference.journals)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@every_scenario
async def test_a_second_crash_at_the_same_place(
    files: Files, crash_free: References, scenario: Scenario
) -> None:
    """M5: the repeated call crashes where the first one did, or where the next of its kind does."""
    reference = crash_free[scenario]
    for number, label in enumerate(reference.passes):
        crashes = [nth(number), again(label)]
        await run(files.fresh(), scenario, crashes, reference.journals)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@every_scenario
async def test_a_second_crash_on_the_way_back(
    files: Files, crash_free: References, scenario: Scenario
) -> None:
    """M5: after a crash of both sides at each pass, another of both, up to four passes later."""
    passes = crash_free[scenario].passes
    for number in range(len(passes) - 1):
        crashes = [nth(number), nth(min(number % 5, len(passes) - number - 2))]
        await run(files.fresh(), scenario, crashes, crash_free[scenario].journals, BOTH)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@every_scenario
async def test_a_crash_at_every_failpoint_on_postgresql(
    postgres_server: PostgresServer, crash_free: References, scenario: Scenario
) -> None:
    """M5: the same on the database of production, each side alone."""
    crashes = [again(label) for label in labels(crash_free, scenario)]
    urls = await fresh_on(postgres_server)
    await run(urls, scenario, crashes, crash_free[scenario].journals)
