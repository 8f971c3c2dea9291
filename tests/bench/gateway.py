"""`make bench`, the gateway: 500 players on one process, beside players who speak gRPC themselves.

All play at one engine at the same time, a turn each three seconds at every table: the ones over
WebSockets with whole views, as pages do, the others over `Play` streams. What is compared is how
long a command waits for its answer. The report goes to build/bench/gateway.md.
"""

import asyncio
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final

import orjson
import uvloop
from rich.console import Console
from websockets.asyncio.client import connect

from okey.api.common.v1 import common_pb2
from okey_runtime.clock import SystemClock
from okey_runtime.migrations import migrate
from services.engine.app import MIGRATIONS
from tests.bench.engine_load import (
    OPENED_AT_ONCE,
    PlayedTable,
    Traffic,
    in_turns,
    played_tables,
    seated,
)
from tests.bench.engine_report import Sheet, judged_sheet
from tests.bench.engine_seed import Plan, Seeded, seed_tables, table_config
from tests.bench.engine_stand import Engine, Process, Stand, process, until_there
from tests.bench.engine_turns import play_all
from tests.bench.figures import Judged, Spread
from tests.fixtures.limits import UNLIMITED_VARIABLES

TABLES: Final = 125
"""Of four: 500 players."""
DIRECT_TABLES: Final = 25
_TURNS: Final = 8
_WARM_UP_TURNS: Final = 1
_FOLDER: Final = Path("build/bench")
_RATIO_LIMIT: Final = 4.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What so many players cost a gateway; times in milliseconds."""

    players: int
    over_gateway_ms: Spread
    direct_ms: Spread
    commands_per_s: float
    frames_per_s: float
    cpu_share: float
    memory_bytes: int
    frame_bytes: int

    @property
    def judged(self) -> list[Judged]:
        """Beside the limits."""
        over, direct = self.over_gateway_ms, self.direct_ms
        name = f"command over the gateway, {self.players} players"
        return [
            Judged(f"{name}, p50", over.p50 / direct.p50, _RATIO_LIMIT, "x direct"),
            Judged(f"{name}, p99", over.p99 / direct.p99, _RATIO_LIMIT, "x direct"),
        ]

    def sheet(self) -> Sheet:
        """As a table."""
        heads = ("way", "command p50/p99/max")
        rows: list[tuple[str, ...]] = [
            ("WebSocket", self.over_gateway_ms.text("ms")),
            ("gRPC", self.direct_ms.text("ms")),
            ("commands over the gateway", f"{self.commands_per_s:,.0f} /s"),
            ("frames down", f"{self.frames_per_s:,.0f} /s of {self.frame_bytes:,} bytes"),
            ("CPU of the gateway", f"{self.cpu_share:.0%}"),
            ("memory of the gateway", f"{self.memory_bytes / 2**20:,.0f} MiB"),
        ]
        return Sheet(f"{self.players} players on one gateway, beside gRPC", heads, rows)


class SocketSeat:
    """One player's WebSocket; its reader runs from ``open`` on."""

    def __init__(self, url: str, token: str, table_id: str, traffic: Traffic) -> None:
        self._url = url
        self._token = token
        self._table_id = table_id
        self._traffic = traffic
        self._numbers = count(1)
        self._stack = AsyncExitStack()
        self._result: asyncio.Future[dict[str, Any]] | None = None
        self._drawn: asyncio.Future[int] | None = None
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Say hello, and wait for the snapshot."""
        connection = connect(self._url, proxy=None, compression=None, ping_interval=None)
        self._socket = await self._stack.enter_async_context(connection)
        hello = {"token": self._token, "table_id": self._table_id, "with_view": True}
        await self._socket.send(orjson.dumps({"hello": hello}).decode())
        for key in ("welcome", "table"):
            first = orjson.loads(await self._socket.recv())
            assert key in first, f"no {key} but {first}"
        self._reading = asyncio.create_task(self._read())

    async def draw(self, turn: int) -> int:
        """Draw from the stock; the tile."""
        self._drawn = asyncio.get_running_loop().create_future()
        await self._act(turn, {"draw_from_stock": {}})
        return await self._drawn

    async def discard(self, turn: int, tile: int) -> None:
        """Discard that tile."""
        await self._act(turn, {"discard": {"tile": tile}})

    async def close(self) -> None:
        """Go."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._stack.aclose()

    async def _act(self, turn: int, action: dict[str, Any]) -> None:
        request_id = f"request-{next(self._numbers)}"
        act = {"request_id": request_id, "turn": turn, "action": action}
        content = orjson.dumps({"play": {"act": act}}).decode()
        self._result = asyncio.get_running_loop().create_future()
        started_s = time.perf_counter()
        await self._socket.send(content)
        result = await self._result
        self._traffic.latencies_s.append(time.perf_counter() - started_s)
        assert "error" not in result, f"the move was refused: {result}"

    async def _read(self) -> None:
        async for content in self._socket:
            table = orjson.loads(content)["table"]
            if "result" in table and self._result is not None:
                self._result.set_result(table["result"])
            else:
                self._traffic.updates.append(len(content))
                self._see(table["update"])

    def _see(self, update: dict[str, Any]) -> None:
        if self._drawn is None or self._drawn.done():
            return
        for event in update["events"]:
            tile = event.get("tile_drawn", {}).get("tile", "TILE_UNSPECIFIED")
            if tile != "TILE_UNSPECIFIED":
                self._drawn.set_result(common_pb2.Tile.Value(tile))


@asynccontextmanager
async def gateway(stand: Stand, engine: Engine) -> AsyncIterator[tuple[Process, str]]:
    """A gateway before that engine, and where its WebSocket is."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    address_file = stand.folder / "gateway.json"
    others = {f"OKEY_{kind}_ADDRESS": engine.address for kind in ("LOBBY", "WALLET", "RATING")}
    settings = {
        "OKEY_ENVIRONMENT": "test",
        "OKEY_JWKS_FILE": str(stand.issuer.jwks_file),
        "OKEY_ENGINE_ADDRESS": engine.address,
        "OKEY_GATEWAY_PORT": str(port),
        "OKEY_ADDRESS_FILE": str(address_file),
        "OKEY_LOG_LEVEL": "ERROR",
        **others,
        **UNLIMITED_VARIABLES,
    }
    async with process("services.gateway", settings) as running:
        await until_there(address_file, running)
        yield running, f"ws://127.0.0.1:{port}/ws"


@asynccontextmanager
async def seated_over(
    url: str, stand: Stand, tables: Sequence[Seeded], traffic: Traffic
) -> AsyncIterator[list[PlayedTable]]:
    """Everybody of these tables on a WebSocket of their own."""
    seats = [
        SocketSeat(url, stand.token(player), table.table_id, traffic)
        for table in tables
        for player in table.players
    ]
    await in_turns([seat.open() for seat in seats], OPENED_AT_ONCE)
    try:
        yield played_tables(tables, seats)
    finally:
        await asyncio.gather(*(seat.close() for seat in seats))


async def measure(stand: Stand, url: str) -> Figures:
    """Everybody at the tables, side by side."""
    now_ms = SystemClock().now_ms()
    plans = [Plan(table_config(number), now_ms) for number in range(TABLES + DIRECT_TABLES)]
    seeded = await seed_tables(url, plans, now_ms)
    over, direct = Traffic(), Traffic()
    async with stand.engine(url) as engine, gateway(stand, engine) as (running, socket_url):
        await engine.until_loaded(len(seeded))
        async with (
            seated_over(socket_url, stand, seeded[DIRECT_TABLES:], over) as ours,
            seated(stand, engine.address, seeded[:DIRECT_TABLES], direct) as theirs,
        ):
            # Mixed, so that both ways meet the same moments.
            tables = [*ours, *theirs]
            Random(7).shuffle(tables)
            await play_all(tables, _WARM_UP_TURNS)
            over.clear()
            direct.clear()
            loop = asyncio.get_running_loop()
            cpu_s, started_s = running.cpu_s(), loop.time()
            await play_all(tables, _TURNS)
            cpu_s, seconds = running.cpu_s() - cpu_s, loop.time() - started_s
            memory = running.memory_bytes()
    return Figures(
        players=TABLES * 4,
        over_gateway_ms=_spread_ms(over),
        direct_ms=_spread_ms(direct),
        commands_per_s=len(over.latencies_s) / seconds,
        frames_per_s=len(over.updates) / seconds,
        cpu_share=cpu_s / seconds,
        memory_bytes=memory,
        frame_bytes=sum(over.updates) // len(over.updates),
    )


def _spread_ms(traffic: Traffic) -> Spread:
    return Spread.of([1000 * each for each in traffic.latencies_s])


async def main() -> None:
    """Measure, then report."""
    console = Console(width=max(Console().width, 120))
    with tempfile.TemporaryDirectory(prefix="okey-bench-") as home:
        url = f"sqlite:///{home}/engine.db"
        await migrate(url, MIGRATIONS)
        async with Stand(Path(home)) as stand:
            figures = await measure(stand, url)
    sheets = [judged_sheet(figures.judged), figures.sheet()]
    _FOLDER.mkdir(parents=True, exist_ok=True)
    (_FOLDER / "gateway.md").write_text("\n".join(sheet.markdown() for sheet in sheets))
    for sheet in sheets:
        console.print(sheet.table())


if __name__ == "__main__":
    uvloop.run(main())
