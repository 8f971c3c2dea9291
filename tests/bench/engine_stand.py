"""What the engine's measurements stand on: its process, its neighbours, what the kernel counts."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc
from prometheus_client.parser import text_string_to_metric_families

from okey_runtime.identity import Role
from okey_runtime.seal_keys import rotate_seal_keys
from tests.fixtures.issuer import Issuer
from tests.fixtures.limits import UNLIMITED_VARIABLES
from tests.unit.engine.doubles import Double, rating_double, wallet_double

ROOT: Final = Path(__file__).parents[2]
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")
_HOUR_MS: Final = 3_600_000
_ASK_AGAIN_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Process:
    """A child process, and what the kernel says of it."""

    running: asyncio.subprocess.Process

    def cpu_s(self) -> float:
        """CPU seconds of all its threads so far, in user and kernel mode."""
        fields = Path(f"/proc/{self.running.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND

    def memory_bytes(self) -> int:
        """Resident memory."""
        for line in Path(f"/proc/{self.running.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("the kernel tells no VmRSS")


@asynccontextmanager
async def process(module: str, environment: Mapping[str, str]) -> AsyncIterator[Process]:
    """A module of ours as a process; it is asked to end at the end, and waited for."""
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module),
        env={"PATH": os.environ["PATH"], **environment},
        cwd=ROOT,
        # Held open for as long as this process lives: the child ends when it is closed.
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Process(running)
    finally:
        if running.returncode is None:
            running.terminate()
        await running.wait()


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine."""

    process: Process
    address: str
    metrics_address: str

    async def metrics(self) -> dict[str, float]:
        """Every sample of its /metrics, by name and labels as they are written."""
        host, _, port = self.metrics_address.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
        answer = (await reader.read()).decode()
        writer.close()
        body = answer.partition("\r\n\r\n")[2]
        return {
            f"{sample.name}{json.dumps(sample.labels, sort_keys=True)}": sample.value
            for family in text_string_to_metric_families(body)
            for sample in family.samples
        }

    async def until_loaded(self, tables: int, timeout_s: float = 300) -> None:
        """Return once so many tables are in memory."""
        await _until(lambda: self._has_loaded(tables), timeout_s)

    async def _has_loaded(self, tables: int) -> bool:
        found = await self.metrics()
        in_memory = [found[name] for name in found if name.startswith("okey_engine_tables{")]
        return sum(in_memory) >= tables


class Stand:
    """A folder with a key that signs tokens, and neighbours that say yes to everything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.issuer = Issuer(folder)
        self._stack = AsyncExitStack()
        self._sinks = ""

    async def __aenter__(self) -> "Stand":
        server = grpc.aio.server()
        doubles: tuple[Double, ...] = (wallet_double(), rating_double())
        for double in doubles:
            double.add_to(server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        self._stack.push_async_callback(server.stop, None)
        self._sinks = f"127.0.0.1:{port}"
        self._seal_keys = self.folder / "seal-keys"
        rotate_seal_keys(self._seal_keys)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def token(self, player: str) -> str:
        """A player's token, good for the whole measurement."""
        return self.issuer.token(player, ttl_ms=_HOUR_MS)

    @asynccontextmanager
    async def engine(self, url: str, profile: Path | None = None) -> AsyncIterator[Engine]:
        """The engine on that database, ready; sampled where a file is named."""
        address_file = self.folder / "address.json"
        address_file.unlink(missing_ok=True)
        settings = {
            "OKEY_ENVIRONMENT": "test",
            "OKEY_DATABASE_URL": url,
            "OKEY_JWKS_FILE": str(self.issuer.jwks_file),
            "OKEY_SERVICE_TOKEN_DIR": str(self.issuer.service_token_dir(self.folder, Role.ENGINE)),
            "OKEY_WALLET_ADDRESS": self._sinks,
            "OKEY_RATING_ADDRESS": self._sinks,
            "OKEY_BOTS_ADDRESS": self._sinks,
            "OKEY_SEAL_KEYS_FILE": str(self._seal_keys),
            "OKEY_ADDRESS_FILE": str(address_file),
            "OKEY_LOG_LEVEL": "ERROR",
            **UNLIMITED_VARIABLES,
            **({"BENCH_PROFILE": str(profile)} if profile else {}),
        }
        async with process("tests.bench.engine_process", settings) as running:
            await until_there(address_file, running)
            where = json.loads(address_file.read_text())
            yield Engine(running, where["grpc"], where["metrics"])


GIVING_WAY: Final[Mapping[str, str]] = {"BENCH_GIVES_WAY": "1"}
"""Of a bare server whose threads of gRPC's give way to its loop, as the engine's do."""


@asynccontextmanager
async def bare(settings: Mapping[str, str] | None = None) -> AsyncIterator[tuple[Process, str]]:
    """The bare stream server, and its address."""
    async with process("tests.bench.engine_bare", settings or {}) as running:
        assert running.running.stdout is not None
        port = int(await running.running.stdout.readline())
        yield running, f"127.0.0.1:{port}"


async def until_there(path: Path, process: Process, timeout_s: float = 300) -> None:
    """Until the file is there; a process that ends before fails it."""

    async def is_there() -> bool:
        if process.running.returncode is not None:
            raise RuntimeError(f"it ended with {process.running.returncode}")
        return await asyncio.to_thread(path.exists)

    await _until(is_there, timeout_s)


async def _until(has_come: Callable[[], Awaitable[bool]], timeout_s: float) -> None:
    """Ask again and again; another process is waited for, which tells nobody."""
    async with asyncio.timeout(timeout_s):
        while True:
            if await has_come():
                return
            await asyncio.sleep(_ASK_AGAIN_S)
