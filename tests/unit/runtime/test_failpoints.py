"""Failpoints: nothing in production, a kill or a test's own function where a test arms them."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from okey_runtime import failpoints
from okey_runtime.config import Environment, ServiceSettings
from okey_runtime.failpoints import FailpointsForbidden, FailpointUnknown

OTHERS = [each for each in Environment if each is not Environment.TEST]
ROOT = Path(__file__).parents[3]


class HoldStakeRequest:
    """Something a failpoint may be about."""


def test_a_failpoint_that_nobody_has_armed_does_nothing() -> None:
    failpoints.hit("wallet.begun")


def test_an_armed_failpoint_tells_what_is_passed_and_what_it_raises_comes_out() -> None:
    passed: list[tuple[str, object]] = []

    def strike(point: str, about: object) -> None:
        passed.append((point, about))
        raise LookupError(point)

    with (
        failpoints.armed(Environment.TEST, strike),
        pytest.raises(LookupError, match=r"wallet\.begun"),
    ):
        failpoints.hit("wallet.begun", 7)
    failpoints.hit("wallet.begun", 8)
    assert passed == [("wallet.begun", 7)]


@pytest.mark.parametrize("environment", OTHERS)
def test_failpoints_are_refused_outside_tests(environment: Environment) -> None:
    with (
        pytest.raises(FailpointsForbidden, match=environment.value),
        failpoints.armed(environment, lambda *_: None),
    ):
        pass


def test_failpoints_are_armed_by_one_test_at_a_time() -> None:
    with (
        failpoints.armed(Environment.TEST, lambda *_: None),
        pytest.raises(FailpointsForbidden, match="one test"),
        failpoints.armed(Environment.TEST, lambda *_: None),
    ):
        pass


@pytest.mark.parametrize("environment", OTHERS)
def test_a_service_outside_tests_does_not_start_with_a_failpoint(
    environment: Environment, tmp_path: Path
) -> None:
    with pytest.raises(ValidationError, match="OKEY_FAILPOINT"):
        ServiceSettings(
            environment=environment,
            jwks_file=tmp_path / "jwks.json",
            token_issuer="https://login.example",
            failpoint="wallet.begun@1",
        )


def test_a_service_without_the_setting_arms_nothing() -> None:
    failpoints.arm_process(ServiceSettings(environment=Environment.STANDALONE))
    with failpoints.armed(Environment.TEST, lambda *_: None):
        pass


@pytest.mark.parametrize(
    ("spec", "killed_at"),
    [
        ("wallet.begun@1", 1),
        ("wallet.begun@3", 4),
        ("wallet.begun:HoldStake@1", 2),
        ("wallet.committed@1", None),
    ],
)
def test_a_process_is_killed_at_the_named_pass(spec: str, killed_at: int | None) -> None:
    killed: list[str] = []
    strike = failpoints.killing(spec, lambda: killed.append(spec))
    passes = [
        ("wallet.begun", "another kind"),
        ("wallet.begun", HoldStakeRequest()),
        ("engine.told", None),
        ("wallet.begun", HoldStakeRequest()),
    ]
    for number, (point, about) in enumerate(passes, start=1):
        strike(point, about)
        assert bool(killed) == (killed_at is not None and number >= killed_at)
    assert len(killed) <= 1


@pytest.mark.parametrize("spec", ["wallet.begun", "wallet.begun@0", "wallet.bgun@1", "@1", "x y@1"])
def test_a_text_that_names_no_failpoint_is_refused(spec: str) -> None:
    with pytest.raises(FailpointUnknown, match=r"wallet\.before_commit"):
        failpoints.killing(spec, lambda: None)


async def test_a_process_of_a_test_ends_at_its_failpoint_as_by_kill_9() -> None:
    """The whole way from the setting to the end of the process, without a word to anybody."""
    program = (
        "from okey_runtime import failpoints;"
        "from okey_runtime.config import ServiceSettings;"
        "failpoints.arm_process(ServiceSettings.load());"
        "failpoints.hit('engine.told');"
        "print('still here')"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program),
        cwd=ROOT,
        env={"OKEY_ENVIRONMENT": "test", "OKEY_FAILPOINT": "engine.told@1"},
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    assert (process.returncode, said) == (-signal.SIGKILL, b"")


def test_every_failpoint_in_the_code_is_one_that_can_be_named() -> None:
    found = set()
    for folder in ("libs/okey_runtime", "services"):
        for path in (ROOT / folder).rglob("*.py"):
            for piece in path.read_text("utf-8").split('failpoints.hit("')[1:]:
                found.add(piece.partition('"')[0])
    assert found == failpoints.POINTS
