"""Ctrl-C ends a command in silence, whatever it is doing."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ENDED_BY_IT = (130, -signal.SIGINT)


@contextmanager
def started(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A command in a group of processes of its own, as a shell starts it."""
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "services.okeyctl.main", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def interrupt(process: subprocess.Popen[str], after: str) -> str:
    """Ctrl-C once the interpreter has loaded that; what is said then."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.endswith(f" {after}\n"):
            break
    os.killpg(process.pid, signal.SIGINT)
    rest = process.stderr.read()
    process.wait()
    return "\n".join(line for line in rest.splitlines() if not line.startswith("import time:"))


@pytest.mark.parametrize("after", ["typer", "services.okeyctl.reach", "services.okeyctl.sections"])
def test_while_it_loads(after: str) -> None:
    with started("simulate", "--matches", "100000") as process:
        assert interrupt(process, after) == ""
        assert process.returncode in ENDED_BY_IT


def test_while_it_plays_in_several_processes() -> None:
    with started("arena", "strong", "neighbours", "--deals", "1000", "--workers", "2") as process:
        assert interrupt(process, "multiprocessing.popen_spawn_posix") == ""
        assert process.returncode in ENDED_BY_IT


def test_its_processes_are_deaf_from_their_first_moment() -> None:
    asks = "print(signal.SIGINT in pool.apply(signal.pthread_sigmask, (signal.SIG_BLOCK, ())))"
    code = (
        "import signal; from services.okeyctl.arena import deaf_pool\n"
        f"with deaf_pool(1) as pool: {asks}"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
