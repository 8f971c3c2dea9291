"""Standalone itself: how it starts, refuses, stops, and what is left when it is killed."""

import asyncio
import os
import signal
import socket
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from okey_runtime.dev_platform import DevPlatform
from services.okeyctl.demo.platform import StartedPlatform
from tests.e2e.conftest import CLOCK_FACTOR
from tests.e2e.match import Tables, house_bonus, play_to_the_end, require_no_chip_lost
from tests.e2e.test_kill import looks, standing

pytestmark = pytest.mark.long

FIRST_FIXED_PORT = 7400
LISTENING = "0A"
# As IPv4, and as IPv4 within IPv6.
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[StartedPlatform]:
    """A platform that the test may stop."""
    platform = StartedPlatform(tmp_path, CLOCK_FACTOR)
    await platform.start()
    yield platform
    await platform.stop()


async def standalone(*options: str) -> tuple[int, str]:
    """Exit status and output of another standalone that cannot run."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.standalone", *options),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def gone(pids: list[int]) -> None:
    """Return once none of the processes runs any more; they need not be our children."""
    loop = asyncio.get_running_loop()
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended = asyncio.Event()
        loop.add_reader(descriptor, ended.set)
        try:
            async with asyncio.timeout(10):
                await ended.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)


def pids_of(state: DevPlatform) -> list[int]:
    return [process.pid for process in state.processes.values()]


def listening_addresses(pid: int) -> set[str]:
    """The hexadecimal IPv4 addresses on which a process listens, and any IPv6 one."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        target = os.readlink(descriptor)
        if target.startswith("socket:["):
            sockets.add(target.removeprefix("socket:[").removesuffix("]"))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == LISTENING and rest[5] in sockets:
                found.add(local.partition(":")[0])
    return found


async def test_everything_listens_on_loopback_only(own: StartedPlatform) -> None:
    for pid in pids_of(own.state):
        addresses = listening_addresses(pid)
        assert addresses, "it listens somewhere"
        assert addresses <= LOOPBACK


async def test_keys_tokens_and_databases_are_the_users_own(own: StartedPlatform) -> None:
    key_file = own.state.key_file
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert not key_file.is_relative_to(own.data_dir)
    open_to_others = [
        path
        for path in [own.data_dir, *own.data_dir.rglob("*")]
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    assert open_to_others == []
    assert '"d"' not in (own.data_dir / "tokens" / "jwks.json").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_everything_in_order(
    own: StartedPlatform, number: signal.Signals
) -> None:
    pids = pids_of(own.state)
    os.kill(own.pid, number)
    assert await own.stop() == 0
    await gone(pids)
    assert own.output().endswith("stopping ...\nstopped\n")
    logs = {path.stem: path.read_text() for path in (own.data_dir / "log").iterdir()}
    for name in ("gateway", "lobby", "engine", "wallet", "rating", "bots"):
        assert '"event":"stopped"' in logs[name]


async def test_a_second_one_does_not_touch_the_same_data(own: StartedPlatform) -> None:
    status, output = await standalone("--free-ports", "--data-dir", str(own.data_dir))
    assert status == 1
    assert "already" in output
    assert "--data-dir" in output
    assert own.state.is_ready


async def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        # Where somebody else has the port already, it is taken all the same.
        with suppress(OSError):
            taken.bind(("127.0.0.1", FIRST_FIXED_PORT))
            taken.listen()
        status, output = await standalone("--data-dir", str(tmp_path))
    assert status == 1
    assert f"port {FIRST_FIXED_PORT}, meant for gateway, is taken" in output
    assert ".venv/bin/python -m services.standalone --free-ports" in output


@pytest.mark.parametrize("below", ["file", "file/x"])
async def test_a_data_folder_that_cannot_be_one_is_named(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    status, output = await standalone("--free-ports", "--data-dir", str(tmp_path / below))
    assert status == 2
    (line,) = output.splitlines()
    assert line.startswith(f"standalone: {tmp_path / below} cannot be the data folder (")
    assert "--data-dir" in line


async def test_ctrl_c_during_the_imports_ends_it_quietly(tmp_path: Path) -> None:
    options = ("--free-ports", "--data-dir", str(tmp_path))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-X", "importtime", "-m", "services.standalone", *options),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    while not (line := await process.stderr.readline()).endswith(b" asyncio\n"):
        assert line, "it has not come to its imports"
    process.send_signal(signal.SIGINT)
    rest = await process.stderr.read()
    # A shell shows this as 130.
    assert await process.wait() == -signal.SIGINT
    assert b"Traceback" not in rest


async def test_a_table_goes_on_after_the_platform_was_stopped(own: StartedPlatform) -> None:
    """M5: stopped in mid-round and started again, with the same data on other ports."""
    await require_table_outlives(own, signal.SIGTERM)


async def test_children_die_with_standalone_and_the_table_goes_on(own: StartedPlatform) -> None:
    """M5: kill -9 of standalone takes every process with it; the data has everything."""
    pids = pids_of(own.state)
    await require_table_outlives(own, signal.SIGKILL)
    await gone(pids)


async def require_table_outlives(own: StartedPlatform, number: signal.Signals) -> None:
    pids = pids_of(own.state)
    bonus = await house_bonus(own)
    async with Tables(own) as tables:
        seated = await tables.seat_mid_round()
        before = await looks(seated)
    os.kill(own.pid, number)
    await own.stop()
    await gone(pids)
    await own.start()
    async with Tables(own) as tables:
        again = [await tables.again(one) for one in seated]
        after = await looks(again)
        assert [standing(view) for view in after] == [standing(view) for view in before]
        end = await play_to_the_end(again)
        await require_no_chip_lost(own, again, end, bonus)
