"""Engine, wallet and rating under a seeded scheduler: whatever fails fails again from its seed."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from tests.simulation.__main__ import report
from tests.simulation.batch import outcomes
from tests.simulation.run import TABLES, run

QUICK_MATCHES = 16
LONG_MATCHES = 10_000
MANY_TABLES = 96
"""Of a run in the long form: an engine's own work, such as renewals, is shared by more matches."""
FEW_TABLES = 3


def test_nothing_is_lost_and_nothing_happens_twice() -> None:
    """M3, M4, M5, R1, U4, U5, W3: over crashes, lost, doubled and late messages."""
    counts = _played(seed=1, matches=QUICK_MATCHES, jobs=1, tables=TABLES)
    assert counts["TableTakenOver"] > counts["tables"], "engines crash over nearly every table"
    assert counts["TurnTimedOut"], "clocks ring"


@pytest.mark.long
@pytest.mark.timeout(7_200)
def test_ten_thousand_matches(capsys: pytest.CaptureFixture[str]) -> None:
    """M3, M4, M5, R1, U4, U5, W3: the same, often enough for every step to be crashed at."""
    with capsys.disabled():
        counts = _played(
            seed=1_000, matches=LONG_MATCHES, jobs=os.cpu_count() or 1, tables=MANY_TABLES
        )
    for kind in ("CANAK_WIN", "CANAK_DRAW", "KLASIK_WIN", "HOUSE_WIN", "MatchVoided"):
        assert counts[kind], f"no match ended as {kind}"


def test_the_same_seed_is_the_same_run() -> None:
    trace = run(10, FEW_TABLES).digest
    assert run(10, FEW_TABLES).digest == trace
    assert run(11, FEW_TABLES).digest != trace


def test_no_order_of_hashes_is_in_it() -> None:
    """Another interpreter, which hashes texts otherwise, runs the same."""
    code = f"from tests.simulation.run import TABLES, run; print(run(10, {FEW_TABLES}).digest)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": "77", "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [run(10, FEW_TABLES).digest]


def _played(seed: int, matches: int, jobs: int, tables: int) -> Counter[str]:
    """What was played; fails at the first run that shows something wrong."""
    counts: Counter[str] = Counter()
    console = Console(stderr=True)
    told = 0
    for outcome in outcomes(seed, matches, jobs, tables):
        assert not outcome.findings, report(outcome)
        counts += outcome.counts
        if counts["matches"] >= told + 500:
            told = counts["matches"]
            console.print(f"\n{told} of {matches} simulated matches", end="")
    return counts
