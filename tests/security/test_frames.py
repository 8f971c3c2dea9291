"""Frames that no client sends, thrown at a service in a process of its own: what becomes of its
memory, its log, and those who call meanwhile.
"""

import asyncio
import json
import os
import socket
import sys
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from okey_runtime.audiences import audience_for
from okey_runtime.auth import create_signing_key, mint, write_jwks
from okey_runtime.channel import open_channel
from okey_runtime.clock import SystemClock
from okey_runtime.identity import Role
from okey_runtime.service_token import fixed_token
from tests import http2

pytestmark = pytest.mark.timeout(300)

CHOOSE = "/okey.api.bots.v1.BotService/ChooseAction"
CHECK = "/grpc.health.v1.Health/Check"
STATUS = "/okey.api.common.v1.StatusService/GetStatus"
MOST_GROWTH = 32 << 20
MOST_LINES = 10
"""Of a kind: one in ten seconds, however slow the machine is."""
CALLS = 500
"""Each has 15 kB until it is refused, which takes half a millisecond."""
BOMB = zlib.compress(bytes(100 << 20), 9)
"""100 kB that inflate to 100 MB."""


@dataclass
class Target:
    """The bot service, which has no store, as its host sees it."""

    process: asyncio.subprocess.Process
    address: str
    log: Path
    operator: str

    def memory(self) -> int:
        """Bytes that are resident."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) * 1_024

    def throw(self, said: bytes) -> None:
        """Send it over a connection of its own, and listen until the service says no more."""
        host, _, port = self.address.rpartition(":")
        connection = socket.create_connection((host, int(port)), timeout=10)
        with connection, suppress(OSError):
            connection.sendall(http2.hello() + said)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass

    def kinds_logged(self) -> Counter[str]:
        """How many lines of each kind, the trail of operators left out."""
        lines = [json.loads(line)["event"] for line in self.log.read_text().splitlines()]
        stems = (line.partition("'")[0].partition("(")[0] for line in lines)
        return Counter(stem for stem in stems if stem not in ("operator_call", "serving"))

    async def answers(self) -> None:
        """Who is known is served."""
        async with open_channel(self.address, token=fixed_token(self.operator)) as channel:
            ask: Any = channel.unary_unary(STATUS)
            await ask(b"", timeout=60)


@pytest.fixture(scope="module")
async def target(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Target]:
    """One for all attacks: none leaves anything behind."""
    tmp_path = tmp_path_factory.mktemp("target")
    key = create_signing_key(tmp_path / "key.json", key_id="only")
    write_jwks(tmp_path / "jwks.json", key)
    clock = SystemClock()
    address_file, log = tmp_path / "address.json", tmp_path / "log"
    environment = {
        "OKEY_ENVIRONMENT": "test",
        "OKEY_JWKS_FILE": str(tmp_path / "jwks.json"),
        "OKEY_ADDRESS_FILE": str(address_file),
        "OKEY_TOKEN_ISSUER": "https://login.example",
    }
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "services.bots", stderr=errors, env={**os.environ, **environment}
        )
    try:
        async with asyncio.timeout(60):
            while not address_file.exists():
                await clock.sleep_until_ms(clock.monotonic_ms() + 50)
        operator = mint(
            key,
            subject="ops",
            roles=[Role.OPERATOR],
            now_ms=clock.now_ms(),
            ttl_ms=3_600_000,
            issuer="https://login.example",
            audience=audience_for("bots"),
        )
        address = json.loads(address_file.read_text())["grpc"]
        target = Target(process, address, log, operator)
        await target.answers()
        yield target
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


def _calls(of_one: Callable[[int], bytes]) -> bytes:
    return b"".join(of_one(2 * number + 1) for number in range(CALLS))


def _indexed(value: bytes, times: int) -> bytes:
    """Headers that repeat the first one by HPACK's index, a byte each."""
    first = b"\x40\x01x" + bytes([len(value)]) + value
    return http2.header_block(CHECK) + first + b"\xbe" * times


ATTACKS = {
    "gzip bomb": http2.headers(1, CHECK, [("grpc-encoding", "gzip")])
    + http2.message(1, BOMB, is_compressed=True),
    "deflate bomb": http2.headers(1, CHECK, [("grpc-encoding", "deflate")])
    + http2.message(1, BOMB, is_compressed=True),
    "rapid reset": _calls(lambda at: http2.headers(at, CHOOSE) + http2.reset(at)),
    "unfinished calls": _calls(lambda at: http2.headers(at, CHOOSE)),
    "unfinished health checks": _calls(lambda at: http2.headers(at, CHECK)),
    "half a body": http2.headers(1, CHECK) + http2.message(1, bytes(4_000))[:2_000],
    "half of the headers": http2.frame(http2.HEADERS, 0, 1, http2.header_block(CHECK)),
    "endless headers": http2.frame(http2.HEADERS, 0, 1, http2.header_block(CHECK))
    + http2.frame(http2.CONTINUATION, 0, 1) * 10_000,
    "settings": http2.frame(http2.SETTINGS, 0, 0) * 10_000,
    "pings": http2.frame(http2.PING, 0, 0, bytes(8)) * 10_000,
    "empty data": http2.headers(1, CHECK) + http2.frame(http2.DATA, 0, 1) * 10_000,
    "headers that are no text": http2.frame(
        http2.HEADERS, http2.END_HEADERS, 1, _indexed(b"\xbe\xbf", 4_000)
    )
    + http2.message(1, b""),
    "garbage": b"\xff" * 1_000,
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_stranger_costs_little_and_harms_nobody(target: Target, attack: str) -> None:
    before, logged = target.memory(), target.kinds_logged()
    for _ in range(3):
        await asyncio.to_thread(target.throw, ATTACKS[attack])
        await target.answers()
    assert target.process.returncode is None
    assert target.memory() - before < MOST_GROWTH
    more = target.kinds_logged() - logged
    assert all(count < MOST_LINES for count in more.values()), more
