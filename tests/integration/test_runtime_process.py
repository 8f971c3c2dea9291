"""A service as a real process: where it is, how it ends on a signal, and why it does not start."""

import asyncio
import json
import os
import signal
import struct
import sys
import urllib.request
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from okey_runtime.channel import open_channel
from okey_runtime.config import DEV_ISSUER
from okey_runtime.service_token import fixed_token
from tests import http2
from tests.fixtures.issuer import Issuer
from tests.unit.runtime.caller import Caller
from tests.unit.runtime.echo import SERVER_STREAM, UNARY, ask

pytestmark = pytest.mark.timeout(60)


@dataclass
class EchoProcess:
    """The running process and what it has logged."""

    process: asyncio.subprocess.Process
    lines: list[dict[str, object]]

    async def logged(self, event: str) -> bool:
        """Whether it has logged the event by now, or does before it ends."""
        assert self.process.stderr is not None
        while not any(line["event"] == event for line in self.lines):
            raw = await self.process.stderr.readline()
            if not raw:
                return False
            self.lines.append(json.loads(raw))
        return True

    async def ended(self) -> int:
        await self.logged("never")
        return await self.process.wait()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    issuer = Issuer(tmp_path)
    (tmp_path / "ayse").write_text(issuer.token("ayse"))
    return {
        "OKEY_ENVIRONMENT": "test",
        "OKEY_JWKS_FILE": str(issuer.jwks_file),
        "OKEY_ADDRESS_FILE": str(tmp_path / "address.json"),
        "OKEY_STOP_GRACE_MS": "5000",
    }


async def start(environment: Mapping[str, str], *arguments: str) -> EchoProcess:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.integration.runtime_echo", *arguments),
        env={"PATH": os.environ["PATH"], **environment},
        cwd=Path(__file__).parents[2],
        stderr=asyncio.subprocess.PIPE,
    )
    return EchoProcess(process, [])


@pytest.fixture
async def echo(environment: dict[str, str]) -> AsyncIterator[EchoProcess]:
    echo = await start(environment)
    assert await echo.logged("serving")
    yield echo
    if echo.process.returncode is None:
        echo.process.kill()
        await echo.process.wait()


async def test_a_process_tells_the_free_ports_it_has_found(
    echo: EchoProcess, tmp_path: Path
) -> None:
    addresses = json.loads((tmp_path / "address.json").read_text())
    token = (tmp_path / "ayse").read_text()
    async with open_channel(addresses["grpc"], token=fixed_token(token)) as channel:
        assert await Caller(channel).call(UNARY, ask()) == ["ayse"]

    def scrape() -> str:
        with urllib.request.urlopen(f"http://{addresses['metrics']}/metrics", timeout=5) as page:
            return str(page.read().decode())

    assert 'grpc_method="Unary"' in await asyncio.to_thread(scrape)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_streams_well_and_the_process_with_status_0(
    echo: EchoProcess, tmp_path: Path, number: signal.Signals
) -> None:
    addresses = json.loads((tmp_path / "address.json").read_text())
    token = (tmp_path / "ayse").read_text()
    async with open_channel(addresses["grpc"], token=fixed_token(token)) as channel:
        call = Caller(channel).begin(SERVER_STREAM, ask("wait"))
        answers = [(await call.read()).what]
        echo.process.send_signal(number)
        answers += [answer.what async for answer in call]
    assert answers == ["ayse", "last"]
    assert await echo.ended() == 0
    assert echo.lines[-1]["event"] == "stopped"


async def test_a_watcher_of_health_that_does_not_read_keeps_no_process_from_its_end(
    echo: EchoProcess, tmp_path: Path
) -> None:
    addresses = json.loads((tmp_path / "address.json").read_text())
    host, _, port = addresses["grpc"].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    no_window = http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", 4, 0))
    writer.write(http2.PREFACE + no_window + http2.headers(1, "/grpc.health.v1.Health/Watch"))
    writer.write(http2.message(1, b""))
    begun = asyncio.Event()
    answering = asyncio.create_task(_answer_pings(reader, writer, begun))
    await begun.wait()
    echo.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(30):
        assert await echo.ended() == 0
    assert echo.lines[-1]["event"] == "stopped"
    answering.cancel()
    writer.close()


async def _answer_pings(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, begun: asyncio.Event
) -> None:
    """What keeps a connection open; ``begun`` is set by the headers of an answer, for which the
    reader needs no window.
    """
    while True:
        head = await reader.readexactly(9)
        content = await reader.readexactly(int.from_bytes(head[:3], "big"))
        kind, flags = head[3], head[4]
        if kind == http2.HEADERS:
            begun.set()
        if kind == http2.SETTINGS and not flags & http2.ACK:
            writer.write(http2.frame(http2.SETTINGS, http2.ACK, 0))
        if kind == http2.PING and not flags & http2.ACK:
            writer.write(http2.frame(http2.PING, http2.ACK, 0, content))


async def test_every_line_of_a_process_is_json(echo: EchoProcess) -> None:
    echo.process.terminate()
    await echo.ended()
    assert {line["service"] for line in echo.lines} == {"tests.unit.runtime.echo"}


async def test_a_taken_port_ends_the_process_with_status_1(
    echo: EchoProcess, environment: dict[str, str], tmp_path: Path
) -> None:
    address = json.loads((tmp_path / "address.json").read_text())["grpc"]
    port = address.rpartition(":")[2]
    second = await start({**environment, "OKEY_LISTEN_PORT": port})
    assert await second.ended() == 1
    assert second.lines[-1]["event"] == "service_failed"


async def test_a_signal_ends_a_start_that_hangs(environment: dict[str, str]) -> None:
    echo = await start(environment, "hang")
    assert await echo.logged("hanging")
    echo.process.terminate()
    assert await echo.ended() == 0
    assert [line["event"] for line in echo.lines] == [
        "hanging",
        "closed",
        "stopped",
        "ended_before_serving",
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"OKEY_JWKS_FILE": ""}, "OKEY_JWKS_FILE"),
        ({"OKEY_TOKEN_ISSUER": DEV_ISSUER}, "development issuer"),
    ],
    ids=["no keys", "development issuer"],
)
async def test_production_does_not_start(
    environment: dict[str, str], change: dict[str, str], why: str
) -> None:
    production = {**environment, "OKEY_ENVIRONMENT": "production", **change}
    refused = await start({k: v for k, v in production.items() if v})
    assert await refused.ended() == 2
    (line,) = refused.lines
    assert line["event"] == "settings_refused"
    assert why in str(line["error"])
