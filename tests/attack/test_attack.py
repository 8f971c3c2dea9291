"""The harness is honest: a victim that is known to be expensive is found to be so, and a short run
of the real thing reports what it did.
"""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.attack.__main__ import chosen
from tests.attack.catalogue import CATALOGUE
from tests.attack.gauge import Gauge, Watched
from tests.attack.inflict import inflict, quiet
from tests.attack.judge import MOST_CPU_S, MOST_GROWTH, Quiet, judge
from tests.attack.network import NETNS
from tests.attack.players import Played
from tests.attack.raid import MOST_BYTES, Aim, Overspent, Raid
from tests.http2 import frame, literal

ROOT = Path(__file__).parents[2]

# Each connection makes it spend what no victim may: memory, CPU and lines of a log.
EXPENSIVE = """
import socket, sys, time
kept = []
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    peer, _ = server.accept()
    is_first = not kept
    kept.append(b"x" * (48 << 20) if is_first else peer)
    with open(sys.argv[1], "a") as log:
        log.write(2 * "somebody has connected\\n")
    until = time.process_time() + 1.2
    while is_first and time.process_time() < until:
        pass
    peer.sendall(b"done")
    kept.append(peer)
"""


@asynccontextmanager
async def expensive(log: Path) -> AsyncIterator[tuple[Process, str]]:
    """Such a victim, and its address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", EXPENSIVE, str(log)), stdout=PIPE
    )
    assert process.stdout is not None
    try:
        yield process, f"127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_memory_cpu_and_lines_of_a_process_are_measured(tmp_path: Path) -> None:
    log = tmp_path / "victim.log"
    async with expensive(log) as (process, address):
        gauge = Gauge(Watched(process.pid, log))
        gauge.begin()
        host, _, port = address.partition(":")
        for _ in range(3):
            reader, writer = await asyncio.open_connection(host, int(port))
            assert await reader.readexactly(4) == b"done"
            writer.close()
        cost = gauge.end()
    assert cost.growth_bytes > MOST_GROWTH
    assert cost.cpu_s > MOST_CPU_S
    assert cost.lines == {"somebody has connected": 6}
    assert not cost.has_died


async def test_a_process_that_ends_is_seen_to_have_died(tmp_path: Path) -> None:
    async with expensive(tmp_path / "log") as (process, _):
        gauge = Gauge(Watched(process.pid, tmp_path / "log"))
        gauge.begin()
        process.kill()
        await process.wait()
        assert gauge.end().has_died


async def test_an_attack_on_an_expensive_victim_breaks_its_limits(tmp_path: Path) -> None:
    """The same attack on a victim that does nothing at all breaks none of them."""
    log, played = tmp_path / "victim.log", Played()
    async with expensive(log) as (process, address):
        watched = {"victim": Watched(process.pid, log)}
        before = await quiet(watched, played, 0.2)
        baseline = Quiet.of([before])
        aim = Aim(services={"engine": address, "wallet": address}, seconds=1.0)
        inflicted = await inflict("silent-direct", aim, lambda: watched, played, [before], {})
        verdict = judge("silent-direct", [inflicted], baseline)
        idle = await inflict("control", aim, lambda: watched, played, [before], {})
    assert inflicted.error == ""
    assert inflicted.spent["connections"] > 0
    assert {"memory", "log"} <= set(verdict.broken)
    assert verdict.growth_of == "victim"
    calm = judge("control", [idle], baseline)
    assert not {"memory", "log", "victim died"} & set(calm.broken)


async def test_an_attacker_that_cannot_start_is_no_attack_that_held(tmp_path: Path) -> None:
    watched, played = {"us": Watched(os.getpid(), tmp_path / "log")}, Played()
    before = await quiet(watched, played, 0.1)
    inflicted = await inflict(
        "no-such-attack", Aim(seconds=0.1), lambda: watched, played, [before], {}
    )
    assert "did not get ready" in inflicted.error


def test_an_attacker_cannot_spend_more_than_its_bound() -> None:
    raid = Raid(Aim())
    raid.pay(MOST_BYTES)
    with pytest.raises(Overspent):
        raid.pay(1)


def test_frames_are_as_http2_writes_them() -> None:
    assert frame(6, 0, 0, bytes(8)) == bytes.fromhex("000008060000000000") + bytes(8)
    # RFC 7541, 5.1: a length beyond seven bits goes on in groups of seven, the lowest first.
    assert literal("a", "b" * 1_337)[:6] == b"\x00\x01a\x7f\xba\x09"


def test_every_attack_of_the_catalogue_can_be_made() -> None:
    for name, kind in CATALOGUE.items():
        assert callable(kind.attack()), name


def test_a_name_chooses_its_attack_and_a_beginning_all_that_begin_so() -> None:
    assert chosen([]) == list(CATALOGUE)
    assert chosen(["control"]) == ["control"]
    assert chosen(["control", "bombs"]) == ["control", "bombs-direct", "bombs-edge"]
    assert chosen(["nothing"]) == []


@pytest.mark.long
@pytest.mark.system
async def test_a_short_run_reports_what_it_did_and_leaves_nothing_behind(tmp_path: Path) -> None:
    names = ["control", "rapid-reset-direct", "slow-headers"]
    only = [option for name in names for option in ("--only", name)]
    run = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.attack", "--seconds", "1", "--folder", str(tmp_path), *only),
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if key != NETNS},
        stdout=PIPE,
        start_new_session=True,
    )
    said, _ = await run.communicate()
    assert run.returncode in (0, 1), said.decode()
    report = json.loads((tmp_path / "attack.json").read_text())
    attacks = {each["name"]: each for each in report["attacks"]}
    assert list(attacks) == names
    assert run.returncode == int(not all(each["holds"] for each in attacks.values()))
    assert attacks["control"]["spent"]["bytes_sent"] == 0
    for name in names[1:]:
        assert attacks[name]["spent"]["bytes_sent"] > 0, name
        assert not any("did not run" in why for why in attacks[name]["broken"])
    assert report["quiet"]["p99_ms"] > 0
    with pytest.raises(ProcessLookupError):
        os.killpg(run.pid, 0)
