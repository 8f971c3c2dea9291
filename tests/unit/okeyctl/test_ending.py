"""How commands end where their output fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from okey_runtime.dev_platform import make_dev_key

SIMULATE = ("simulate", "--matches", "1")


@pytest.fixture(autouse=True)
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs what ``okeyctl token`` writes."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    make_dev_key()


def run(command: tuple[str, ...], out: int, state: Path) -> tuple[int, str]:
    """Status and errors of a command that writes to ``out``."""
    process = subprocess.run(
        [sys.executable, "-m", "services.okeyctl.main", *command],
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | {"XDG_STATE_HOME": str(state), "OKEY_DATA_DIR": str(state)},
    )
    return process.returncode, process.stderr


@pytest.mark.parametrize(
    "command", [("token", "--player", "ayse"), SIMULATE, (*SIMULATE, "--json"), ("--help",)]
)
def test_a_full_disk_is_one_line_and_status_2(command: tuple[str, ...], tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        status, error = run(command, full.fileno(), tmp_path)
    assert (status, error) == (2, "okeyctl: [Errno 28] No space left on device\n")


@pytest.mark.parametrize(
    "command", [("token", "--player", "ayse"), SIMULATE, (*SIMULATE, "--json")]
)
def test_a_reader_that_has_gone_away_is_status_2(command: tuple[str, ...], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert run(command, writer, tmp_path) == (2, "")
    finally:
        os.close(writer)
