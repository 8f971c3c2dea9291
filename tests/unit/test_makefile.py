"""`make setup`: an environment that an interrupted start has left behind is made anew."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"

# Notes what it is asked for. As a virtual environment it makes one with a copy of itself.
STAND_IN = """#!/bin/sh
echo "$*" >> "{log}"
case "$*" in
    "-m venv "*) rm -rf .venv && mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *version_info*) exit {is_old} ;;
esac
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    clone = tmp_path / "clone"
    (clone / "requirements").mkdir(parents=True)
    (clone / "requirements" / "dev.txt").touch()
    shutil.copy(MAKEFILE, clone)
    return clone


def stand_in(clone: Path, *, is_old: bool = False) -> Path:
    python = clone.parent / "python"
    python.write_text(STAND_IN.format(log=clone.parent / "log", is_old=int(is_old)))
    python.chmod(0o755)
    return python


def setup(clone: Path, python: Path | str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "setup", f"PYTHON={python}"],
        cwd=clone,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_environment_without_a_whole_pip_is_made_anew(clone: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", clone / ".venv"], check=True)
    done = setup(clone, stand_in(clone))
    assert done.returncode == 0, done.stderr
    asked = (clone.parent / "log").read_text().splitlines()
    assert "-m venv --clear .venv" in asked
    assert any(line.startswith("-m pip") and "dev.txt" in line for line in asked)


def test_a_python_without_an_environment_is_not_installed_into(clone: Path) -> None:
    """An interrupted start may leave a link to the machine's own Python, and nothing else."""
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    done = setup(clone, stand_in(clone))
    assert done.returncode == 0, done.stderr
    assert "-m venv --clear .venv" in (clone.parent / "log").read_text().splitlines()


def test_an_environment_that_works_is_kept(clone: Path) -> None:
    python = stand_in(clone)
    (clone / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(python, clone / ".venv" / "bin")
    assert setup(clone, "").returncode == 0
    assert "-m venv" not in (clone.parent / "log").read_text()


@pytest.mark.parametrize("is_there", [True, False], ids=["too old", "none"])
def test_without_a_python_that_will_do_it_says_what_to_do(clone: Path, is_there: bool) -> None:
    done = setup(clone, stand_in(clone, is_old=True) if is_there else "")
    assert done.returncode != 0
    assert "3.11 or newer" in done.stderr
    assert "PYTHON=<path>" in done.stderr
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("run", "python -m services.standalone"),
        ("cluster", "python -m services.standalone --cluster"),
        ("demo", "okeyctl demo"),
    ],
)
def test_a_platform_is_started_by_the_command_that_the_tests_start(
    target: str, command: str
) -> None:
    told = subprocess.run(
        ["make", "-n", target], cwd=MAKEFILE.parent, capture_output=True, text=True, check=True
    )
    assert told.stdout.splitlines()[-1] == f".venv/bin/{command}"
