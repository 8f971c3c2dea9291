"""Children are started, told of, started again with growing pauses, and stopped in order."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from okey_runtime.clock import VirtualClock
from okey_runtime.dev_platform import DevPlatform
from services.standalone.child import Child, ChildEnded, ChildNotReady, told
from services.standalone.plan import ChildPlan
from services.standalone.ports import free_ports
from services.standalone.shape import VALKEY
from services.standalone.supervisor import BACKOFF_FIRST_MS, BACKOFF_LAST_MS, Supervisor

# Answers PING as Valkey does, and ends on SIGTERM.
ANSWERS = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    caller, _ = server.accept()
    with caller:
        caller.recv(100)
        caller.sendall(b"+PONG\\r\\n")
"""
ENDS = "import sys; print('no such database'); sys.exit(3)"
WAITS = "import time; time.sleep(600)"
IGNORES = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + ANSWERS


def plan(code: str) -> ChildPlan:
    """A child that is asked for its health as Valkey is."""
    ports = free_ports((VALKEY,))[VALKEY]
    command = (sys.executable, "-c", code, str(ports.serving))
    return ChildPlan(VALKEY, VALKEY, command, {}, ports)


class Said:
    """What the person at the terminal has been told, to be waited for."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str] = asyncio.Queue()

    async def next(self) -> str:
        async with asyncio.timeout(20):
            return await self.lines.get()


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def supervisor(tmp_path: Path, clock: VirtualClock, said: Said) -> AsyncIterator[Supervisor]:
    key_file = tmp_path / "key"
    supervisor = Supervisor([plan(ANSWERS)], tmp_path, key_file, clock, said.lines.put_nowait)
    await supervisor.start()
    yield supervisor
    await supervisor.stop()


async def test_a_child_that_died_is_started_again_and_both_is_said(
    supervisor: Supervisor, tmp_path: Path, clock: VirtualClock, said: Said
) -> None:
    before = DevPlatform.find(tmp_path)
    assert before.is_ready
    os.kill(before.processes[VALKEY].pid, signal.SIGKILL)
    assert await said.next() == (
        f"valkey was ended by SIGKILL; it starts again in {BACKOFF_FIRST_MS} ms"
    )
    assert not DevPlatform.find(tmp_path).is_ready
    clock.advance_ms(BACKOFF_FIRST_MS)
    assert await said.next() == "valkey is back"
    after = DevPlatform.find(tmp_path)
    assert after.is_ready
    assert after.processes[VALKEY].pid not in (before.processes[VALKEY].pid, 0)
    assert after.address(VALKEY) == before.address(VALKEY)


async def test_the_pauses_grow_to_a_bound(
    supervisor: Supervisor, tmp_path: Path, clock: VirtualClock, said: Said
) -> None:
    pauses = []
    for _ in range(8):
        os.kill(DevPlatform.find(tmp_path).processes[VALKEY].pid, signal.SIGKILL)
        pauses.append(int((await said.next()).split()[-2]))
        clock.advance_ms(pauses[-1])
        assert await said.next() == "valkey is back"
    assert pauses[:3] == [BACKOFF_FIRST_MS, 2 * BACKOFF_FIRST_MS, 4 * BACKOFF_FIRST_MS]
    assert pauses[-1] == max(pauses) == BACKOFF_LAST_MS


async def test_a_child_that_has_run_long_starts_again_at_once(
    supervisor: Supervisor, tmp_path: Path, clock: VirtualClock, said: Said
) -> None:
    for passed_ms in (0, 31_000):
        clock.advance_ms(passed_ms)
        os.kill(DevPlatform.find(tmp_path).processes[VALKEY].pid, signal.SIGKILL)
        assert (await said.next()).endswith(f"again in {BACKOFF_FIRST_MS} ms")
        clock.advance_ms(BACKOFF_FIRST_MS)
        assert await said.next() == "valkey is back"


async def test_stopping_leaves_nothing_running_and_no_state_file(
    tmp_path: Path, clock: VirtualClock, said: Said
) -> None:
    supervisor = Supervisor(
        [plan(ANSWERS), plan(ANSWERS)], tmp_path, tmp_path / "key", clock, said.lines.put_nowait
    )
    await supervisor.start()
    await supervisor.stop()
    statuses = [await child.wait() for child in supervisor.children]
    assert statuses == [-signal.SIGTERM] * 2
    assert not (tmp_path / "standalone.json").exists()
    assert said.lines.empty(), "a child that we stop is not one that died"


async def test_a_child_that_ends_at_once_is_an_error_with_its_log(tmp_path: Path) -> None:
    child = Child(plan(ENDS), tmp_path / "valkey.log")
    await child.start()
    with pytest.raises(ChildEnded, match=r"(?s)ended with status 3 before.*no such database"):
        await child.become_ready(20)


async def test_a_child_that_never_answers_is_an_error(tmp_path: Path) -> None:
    child = Child(plan(WAITS), tmp_path / "valkey.log")
    await child.start()
    with pytest.raises(ChildNotReady, match="not ready after 0 s"):
        await child.become_ready(0.2)
    await child.stop()


async def test_a_child_that_will_not_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.standalone.child.STOP_TIMEOUT_S", 0.2)
    child = Child(plan(IGNORES), tmp_path / "valkey.log")
    await child.start()
    await child.become_ready(20)
    await child.stop()
    assert await child.wait() == -signal.SIGKILL


async def test_a_child_that_was_never_started_can_be_stopped(tmp_path: Path) -> None:
    child = Child(plan(WAITS), tmp_path / "valkey.log")
    await child.stop()
    assert child.pid == 0


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "ended with status 0"), (1, "ended with status 1"), (-9, "was ended by SIGKILL")],
)
def test_an_exit_status_in_words(status: int, words: str) -> None:
    assert told(status) == words
