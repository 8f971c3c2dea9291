"""`make setup` and `make run`: what they install, and that an environment that an interrupted start
has left behind is made anew.
"""

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
    for lock in ("dev", "runtime", "build"):
        (clone / "requirements" / f"{lock}.txt").touch()
    shutil.copy(MAKEFILE, clone)
    return clone


def stand_in(clone: Path, *, is_old: bool = False) -> Path:
    python = clone.parent / "python"
    python.write_text(STAND_IN.format(log=clone.parent / "log", is_old=int(is_old)))
    python.chmod(0o755)
    return python


def setup(
    clone: Path, python: Path | str, target: str = "setup"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", target, f"PYTHON={python}"],
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


def installed_from(clone: Path) -> list[str]:
    """The locks that were asked for since the last look."""
    log = clone.parent / "log"
    lines = log.read_text().splitlines()
    log.write_text("")
    return [word for line in lines for word in line.split() if word.endswith(".txt")]


def test_to_run_takes_less_than_to_develop_and_nothing_more_afterwards(clone: Path) -> None:
    python = stand_in(clone)
    assert setup(clone, python, "run").returncode == 0
    assert installed_from(clone) == ["requirements/runtime.txt", "requirements/build.txt"]
    assert setup(clone, python, "run").returncode == 0
    assert installed_from(clone) == []
    assert setup(clone, python).returncode == 0
    assert installed_from(clone) == ["requirements/dev.txt"]
    assert setup(clone, python, "run").returncode == 0
    assert installed_from(clone) == []


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
        ["make", "-n", target],
        cwd=MAKEFILE.parent,
        env={"PATH": os.environ["PATH"]},  # nothing of the make that runs the tests
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines()[-1] == f".venv/bin/{command}"


def test_the_newest_python_is_one_that_answers(tmp_path: Path) -> None:
    """A shim for a Python that is not chosen stands on the PATH and only complains."""
    for minor, status in ((13, 127), (12, 0), (11, 0)):
        python = tmp_path / f"python3.{minor}"
        python.write_text(f"#!/bin/sh\nexit {status}\n")
        python.chmod(0o755)
    found = subprocess.run(
        [MAKEFILE.parent / "tools" / "newest_python.sh"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "PYENV_ROOT": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == str(tmp_path / "python3.12")
