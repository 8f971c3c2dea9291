"""Finding the platform of this machine, and the key that signs its tokens."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from okey_runtime.dev_platform import (
    DevPlatform,
    PlatformNotRunning,
    RunningProcess,
    dev_key_file,
    make_dev_key,
)


def platform(pid: int, *ready: bool) -> DevPlatform:
    processes = {
        f"service-{number}": RunningProcess(
            kind=f"service-{number}", pid=number, is_ready=is_ready, address=f"127.0.0.1:{number}"
        )
        for number, is_ready in enumerate(ready)
    }
    return DevPlatform(pid=pid, key_file=Path("/state/key.json"), processes=processes)


def test_a_running_platform_is_found_as_it_was_saved(tmp_path: Path) -> None:
    saved = platform(os.getpid(), True, False)
    saved.save(tmp_path)
    found = DevPlatform.find(tmp_path)
    assert found == saved
    assert found.address("service-1") == "127.0.0.1:1"


def test_a_platform_is_ready_once_every_process_is() -> None:
    assert platform(1, True, True).is_ready
    assert not platform(1, True, False).is_ready


def test_none_is_found_where_none_was_started_or_its_file_is_broken(tmp_path: Path) -> None:
    with pytest.raises(PlatformNotRunning, match="make run"):
        DevPlatform.find(tmp_path)
    (tmp_path / "standalone.json").write_text("{")
    with pytest.raises(PlatformNotRunning, match="--data-dir"):
        DevPlatform.find(tmp_path)


def test_one_that_was_killed_is_not_found(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    platform(ended.pid, True).save(tmp_path)
    with pytest.raises(PlatformNotRunning, match=str(tmp_path)):
        DevPlatform.find(tmp_path)


def test_one_that_was_stopped_is_not_found(tmp_path: Path) -> None:
    platform(os.getpid(), True).save(tmp_path)
    DevPlatform.remove(tmp_path)
    with pytest.raises(PlatformNotRunning):
        DevPlatform.find(tmp_path)
    DevPlatform.remove(tmp_path)


def test_the_key_is_made_once_and_is_its_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first, second = make_dev_key(), make_dev_key()
    assert first.as_dict(private=True) == second.as_dict(private=True)
    assert dev_key_file() == tmp_path / "okey" / "dev-signing-key.json"
    assert stat.S_IMODE(dev_key_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(dev_key_file().parent.stat().st_mode) == 0o700


def test_the_key_lives_below_the_home_folder_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert dev_key_file() == tmp_path / ".local" / "state" / "okey" / "dev-signing-key.json"
