"""``make cluster``: several of each service as real processes, one address for all of each, and a
doctor that names what is broken.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.okeyctl.demo.platform import StartedPlatform
from tests.e2e.conftest import CLOCK_FACTOR
from tests.e2e.match import Tables, house_bonus, play_to_the_end, require_no_chip_lost

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StartedPlatform]:
    folder = tmp_path_factory.mktemp("cluster")
    async with StartedPlatform(folder, CLOCK_FACTOR, is_cluster=True) as platform:
        yield platform


async def doctor(platform: StartedPlatform, *options: str) -> tuple[int, dict[str, list[str]]]:
    """Its exit status, and by check where something is wrong."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.okeyctl.main", "doctor", "--json", *options),
        *("--data-dir", str(platform.data_dir)),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(platform.state.key_file.parents[1])},
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    wrong: dict[str, list[str]] = {}
    for finding in json.loads(output)["findings"]:
        if finding["state"] == "wrong":
            wrong.setdefault(finding["check"], []).append(finding["where"])
    return process.returncode, wrong


def children_of(pid: int) -> list[int]:
    return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


async def until_well(platform: StartedPlatform) -> None:
    """Return once the doctor finds nothing wrong, as it must soon."""
    async with asyncio.timeout(60):
        while (await doctor(platform, "--no-ledger"))[0] != 0:
            continue


async def test_a_match_over_one_address_for_all_engines(cluster: StartedPlatform) -> None:
    """M5: a client knows all of each service by one address, and finds its table."""
    bonus = await house_bonus(cluster)
    async with Tables(cluster) as tables:
        seated = await tables.seat()
        end = await play_to_the_end(seated)
        await require_no_chip_lost(cluster, seated, end, bonus)


async def test_the_doctor_finds_nothing_and_a_guest_plays(cluster: StartedPlatform) -> None:
    await until_well(cluster)
    assert await doctor(cluster, "--play") == (0, {})
    assert await doctor(cluster, "--dry-run") == (0, {})


@pytest.mark.parametrize("name", ["engine-2", "valkey"])
async def test_the_doctor_names_what_hangs(cluster: StartedPlatform, name: str) -> None:
    await until_well(cluster)
    pid = cluster.state.processes[name].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        status, wrong = await doctor(cluster, "--no-ledger")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert status == 1
    if name == "valkey":
        assert set(wrong["redis"]) == {"lobby-1", "lobby-2"}
    else:
        assert wrong["health"] == [name]


async def test_the_doctor_names_a_database_that_hangs(cluster: StartedPlatform) -> None:
    await until_well(cluster)
    pid = cluster.state.processes["postgres"].pid
    every = [pid, *children_of(pid)]
    for each in every:
        os.kill(each, signal.SIGSTOP)
    try:
        status, wrong = await doctor(cluster, "--no-ledger")
    finally:
        for each in every:
            os.kill(each, signal.SIGCONT)
    assert status == 1
    assert set(wrong["database"]) >= {"engine-1", "engine-2", "engine-3"}
    await until_well(cluster)


async def test_an_engine_that_dies_leaves_no_table_behind(cluster: StartedPlatform) -> None:
    """M5: whoever plays at it goes on at another one, or at itself once it is back."""
    await until_well(cluster)
    bonus = await house_bonus(cluster)
    async with Tables(cluster) as tables:
        seated = await tables.seat_mid_round()
        pid = cluster.state.processes["engine-1"].pid
        os.kill(pid, signal.SIGKILL)
        end = await play_to_the_end(seated)
        await require_no_chip_lost(cluster, seated, end, bonus)
