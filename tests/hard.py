"""`make test-hard`: every quick test again and again, in random order, on a machine without time.

Each core runs a busy loop meanwhile, and all of it is as nice as can be, so that whatever else the
machine does comes first. Prints a line a run and writes ``build/test-hard.json``; the status is 1
where a run was red.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from rich.console import Console
from rich.table import Table

_ROOT = Path(__file__).parents[1]
_REPORT = _ROOT / "build" / "test-hard.json"
_NICE = ("nice", "-n", "19")
_PYTEST = (*_NICE, sys.executable, "-m", "pytest")
_PARTS = (
    ("tests/unit", "-m", "core and not long", "--cov", "--cov-report="),
    ("tests", "-m", "not core and not long and not system"),
)
_OPTIONS = ("-q", "-n", "2", "-p", "tests.progress", "--random-order")


@contextmanager
def busy_cores() -> Iterator[None]:
    """While the block runs, each core has a loop to run that never waits."""
    loop = (*_NICE, sys.executable, "-c", "while True: pass")
    loops = [subprocess.Popen(loop) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait()


def once(seed: int) -> dict[str, object]:
    """Run every quick test once; the seed gives the order."""
    began_s = monotonic()
    order = f"--random-order-seed={seed}"
    codes = [
        subprocess.run([*_PYTEST, *part, *_OPTIONS, order], check=False, cwd=_ROOT).returncode
        for part in _PARTS
    ]
    return {"seed": seed, "is_green": not any(codes), "seconds": round(monotonic() - began_s)}


def main() -> int:
    """Run as often as asked for; 1 if a run was red."""
    parser = argparse.ArgumentParser(prog="python -m tests.hard", description=__doc__)
    parser.add_argument("--times", type=int, default=10, help="runs, each with a seed of its own")
    parser.add_argument("--seed", type=int, default=1, help="the first run's seed")
    options = parser.parse_args()
    runs: list[dict[str, object]] = []
    with busy_cores():
        for seed in range(options.seed, options.seed + options.times):
            runs.append(once(seed))
            _write(runs)
    return int(not all(run["is_green"] for run in runs))


def _write(runs: list[dict[str, object]]) -> None:
    _REPORT.parent.mkdir(exist_ok=True)
    _REPORT.write_text(json.dumps(runs, indent=2) + "\n")
    table = Table("seed", "outcome", "seconds")
    for run in runs:
        table.add_row(str(run["seed"]), "green" if run["is_green"] else "RED", str(run["seconds"]))
    Console(stderr=True).print(table)


if __name__ == "__main__":
    sys.exit(main())
