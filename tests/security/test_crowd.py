"""Two thousand watchers, readers that do not read, and a flood of connections, while people play.

The engine is a process of its own, so its memory can be looked at. Who plays must notice nothing:
no call of theirs fails or is repeated, and no turn of theirs times out.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import grpc
import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey.api.lobby.v1 import lobby_pb2
from okey_client import Change, OkeyClient, RetryPolicy, TableClient, autoplay
from okey_runtime.channel import open_channel
from okey_runtime.clock import SystemClock
from okey_runtime.errors import from_rpc_error
from okey_runtime.service_token import fixed_token
from services.okeyctl.demo.platform import StartedPlatform
from tests.e2e.match import is_over

pytestmark = [pytest.mark.long, pytest.mark.system, pytest.mark.timeout(900)]

WATCHERS = 2_000
A_CONNECTION = 500
SLOW = 100
SILENT = 1_500
AT_ONCE = 100
# So that little is on its way between a client that does not read and the server.
NARROW = (("grpc.http2.lookahead_bytes", 1_024), ("grpc.http2.bdp_probe", 0))
MOST_A_WATCHER = 100_000
"""Bytes of the engine's memory; both ends of a bare stream have 49 kB."""
MOST_A_CONNECTION = 64_000

UNSENT = 3_000
"""Calls of which only the headers are sent; at most 2,000 of them wait at once."""
BAD_TOKENS = 5_000
WHERE = "/okey.api.engine.v1.TableService/WhereAmI"

# What a stranger says who means no good, each the beginning of something.
OPENINGS = (
    b"",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 400,
    b"GET /metrics HTTP/1.1\r\nHost: engine\r\n\r\n",
    b"\x16\x03\x01\x02\x00" + bytes(500),
)


class Engine:
    """The engine's process, as its host sees it."""

    def __init__(self, platform: StartedPlatform) -> None:
        self.process = platform.state.processes["engine"]
        host, _, port = self.process.address.rpartition(":")
        self.host, self.port = host, int(port)

    def memory(self) -> int:
        """Bytes that are resident."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) * 1_024

    def metric(self, name: str) -> float:
        """A sample of its metrics; those of a labelled one added up."""
        with urlopen(f"http://{self.process.metrics_address}/metrics") as page:
            lines = page.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[StartedPlatform]:
    async with StartedPlatform(tmp_path, clock_factor=3) as platform:
        yield platform


class Match:
    """Two who play on, match after match, and would be failed by any call that fails."""

    def __init__(self, platform: StartedPlatform) -> None:
        self._platform = platform
        self.timeouts = 0
        self.matches = 0

    async def play(self, *names: str) -> None:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(self._client(name)) for name in names]
            terms = lobby_pb2.TableTerms(seat_count=2, stake=100, turn_timeout_ms=60_000)
            table_id = await clients[0].lobby.create_table(terms)
            await clients[1].lobby.join_table(table_id)
            tables = [client.table(table_id) for client in clients]
            await asyncio.gather(
                *(autoplay(table, is_over, on_change=self.note) for table in tables)
            )
            self.matches += 1

    async def play_until(self, over: asyncio.Event) -> None:
        """New people each time, until it is over."""
        while not over.is_set():
            await self.play(f"anna-{self.matches}", f"bert-{self.matches}")

    def _client(self, name: str) -> OkeyClient:
        state, token = self._platform.state, self._platform.token(name)
        return OkeyClient(
            token_provider=lambda: token,
            lobby_address=state.address("lobby"),
            engine_address=state.address("engine"),
            policy=RetryPolicy(tries=1, deadline_ms=30_000),
        )

    def note(self, change: Change) -> None:
        """Count whose time ran out."""
        self.timeouts += sum(event.HasField("turn_timed_out") for event in change.events)


async def table_of(platform: StartedPlatform, player: str) -> str:
    """A table that waits for its second player."""
    async with platform.client(player) as client:
        return await client.lobby.create_table(lobby_pb2.TableTerms(seat_count=2, stake=100))


@asynccontextmanager
async def watching(
    platform: StartedPlatform, table_id: str, names: list[str], *, reads: bool
) -> AsyncIterator[list[Any]]:
    """That many streams, by players of their own; those that read have had their first view."""
    options = () if reads else NARROW
    address, streams = platform.state.address("engine"), list[Any]()
    async with AsyncExitStack() as stack:
        for start in range(0, len(names), A_CONNECTION):
            channel = (
                open_channel(address)
                if reads
                else grpc.aio.insecure_channel(address, options=options)
            )
            stub = engine_pb2_grpc.TableServiceStub(await stack.enter_async_context(channel))
            for name in names[start : start + A_CONNECTION]:
                watch = engine_pb2.WatchTableRequest(table_id=table_id, with_view=True)
                metadata = fixed_token(platform.token(name))()
                streams.append(stub.WatchTable(watch, metadata=metadata))
        if reads:
            await in_turn(stream.read() for stream in streams)
        yield streams
        for stream in streams:
            stream.cancel()


async def in_turn(work: Iterator[Awaitable[Any]]) -> list[Any]:
    """All of it, so many at a time."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(each: Awaitable[Any]) -> Any:
        async with room:
            return await each

    return list(await asyncio.gather(*map(one, work)))


@asynccontextmanager
async def flooding(engine: Engine) -> AsyncIterator[None]:
    """Connections that say something wrong, or nothing, and stay."""
    writers = list[asyncio.StreamWriter]()

    async def connect(number: int) -> None:
        with suppress(ConnectionError):
            _, writer = await asyncio.open_connection(engine.host, engine.port)
            writers.append(writer)
            writer.write(OPENINGS[number % len(OPENINGS)])
            await writer.drain()

    await in_turn(connect(number) for number in range(SILENT))
    yield
    for writer in writers:
        writer.close()


async def until(is_so: Callable[[], bool]) -> None:
    """Return once it is so; looked at five times a second, outside the loop."""
    clock = SystemClock()
    async with asyncio.timeout(120):
        while not await asyncio.to_thread(is_so):
            await clock.sleep_until_ms(clock.monotonic_ms() + 200)


async def until_metric(engine: Engine, name: str, wanted: float) -> None:
    """Return once the engine says so."""
    await until(lambda: engine.metric(name) == wanted)


async def test_a_crowd_a_flood_and_slow_readers_harm_nobody(platform: StartedPlatform) -> None:
    engine, match, over = Engine(platform), Match(platform), asyncio.Event()
    await match.play("warm-1", "warm-2")
    idle = await table_of(platform, "host")
    names = [f"watcher-{number}" for number in range(WATCHERS)]
    before = engine.memory()
    playing = asyncio.create_task(match.play_until(over))
    async with watching(platform, idle, names, reads=True):
        await until_metric(engine, "okey_engine_watchers ", WATCHERS + 2)
        with_watchers = engine.memory()
        async with flooding(engine):
            with_flood = engine.memory()
            played = match.matches
            await until(lambda: match.matches >= played + 2 or playing.done())
        after_flood = engine.memory()
    over.set()
    await playing
    await until_metric(engine, "okey_engine_watchers ", 0)
    report = {
        "kB a watcher": (with_watchers - before) / WATCHERS / 1_000,
        "kB a connection of the flood": (with_flood - with_watchers) / SILENT / 1_000,
        "MB before": before / 1e6,
        "MB at most": max(with_watchers, with_flood, after_flood) / 1e6,
        "matches": match.matches,
    }
    sys.stdout.write(f"{ {name: round(value, 1) for name, value in report.items()} }\n")
    assert match.timeouts == 0
    assert with_watchers - before < WATCHERS * MOST_A_WATCHER
    assert max(with_flood, after_flood) - with_watchers < SILENT * MOST_A_CONNECTION
    assert platform.state.processes["engine"].pid == engine.process.pid, "it died of it"
    await match.play("late-1", "late-2")


async def test_readers_that_do_not_read_are_cut_and_cost_little(
    platform: StartedPlatform,
) -> None:
    engine, match = Engine(platform), Match(platform)
    await match.play("warm-1", "warm-2")
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(platform.client(name)) for name in ("a", "b")]
        terms = lobby_pb2.TableTerms(seat_count=2, stake=100, start_points=20)
        terms.variant = common_pb2.VARIANT_KLASIK
        table_id = await clients[0].lobby.create_table(terms)
        before = engine.memory()
        names = [f"slow-{number}" for number in range(SLOW)]
        async with watching(platform, table_id, names, reads=False):
            await until_metric(engine, "okey_engine_watchers ", SLOW)
            await clients[1].lobby.join_table(table_id)
            cut = 'okey_engine_watchers_cut_total{reason="STREAM_END_REASON_SLOW_READER"}'
            tables = [client.table(table_id) for client in clients]
            playing = [asyncio.create_task(keep_playing(table)) for table in tables]
            await until_metric(engine, cut, SLOW)
            most = engine.memory()
            for task in playing:
                task.cancel()
            await asyncio.gather(*playing, return_exceptions=True)
    sys.stdout.write(f"{(most - before) / SLOW / 1_000:.1f} kB a slow reader\n")
    assert most - before < SLOW * 1_000_000
    await match.play("late-1", "late-2")


async def keep_playing(
    table: TableClient, on_change: Callable[[Change], None] | None = None
) -> None:
    await autoplay(table, is_over, on_change=on_change)


async def why(call: Awaitable[Any]) -> str:
    """Why the call is refused."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        # Without a reason nobody has answered: the connection was ended.
        return from_rpc_error(error).reason or error.code().name
    return "answered"


async def test_bad_tokens_and_calls_without_a_message_harm_nobody_who_plays(
    platform: StartedPlatform,
) -> None:
    """From the address of those who play: gRPC's own bounds would keep such calls for ever."""
    engine, match = Engine(platform), Match(platform)
    await match.play("warm-1", "warm-2")
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(platform.client(name)) for name in ("a", "b")]
        terms = lobby_pb2.TableTerms(seat_count=2, stake=100, start_points=20)
        terms.turn_timeout_ms = 60_000
        terms.variant = common_pb2.VARIANT_KLASIK
        table_id = await clients[0].lobby.create_table(terms)
        await clients[1].lobby.join_table(table_id)
        tables = [client.table(table_id) for client in clients]
        playing = [asyncio.create_task(keep_playing(table, match.note)) for table in tables]
        address = platform.state.address("engine")
        # Of different options, so that each has a connection of its own.
        first = await stack.enter_async_context(open_channel(address, max_message_bytes=1 << 20))
        second = await stack.enter_async_context(open_channel(address, max_message_bytes=2 << 20))
        unsent: Any = first.stream_unary(WHERE)
        bad: Any = second.unary_unary(WHERE)
        said = (("authorization", "Bearer a.bad.token"),)
        before, seq = engine.memory(), (await tables[0].get()).seq
        silent = asyncio.gather(*(why(unsent()) for _ in range(UNSENT)))
        shown = in_turn(why(bad(b"", metadata=said)) for _ in range(BAD_TOKENS))
        of_tokens, of_silence = Counter(await shown), Counter(await silent)
        most, then = engine.memory(), (await tables[0].get()).seq
        for task in playing:
            assert not task.done(), "its player was harmed"
            task.cancel()
        await asyncio.gather(*playing, return_exceptions=True)
    report = (
        f"{dict(of_tokens)}, {dict(of_silence)}, {(most - before) / UNSENT / 1_000:.1f} kB each"
    )
    sys.stdout.write(f"{report}; {then - seq} rows played meanwhile\n")
    ended = {"UNAVAILABLE", "CANCELLED"}
    assert {"TOKEN_INVALID"} <= set(of_tokens) <= {"TOKEN_INVALID", "TOO_MANY_BAD_TOKENS"} | ended
    assert {"TOKEN_MISSING"} <= set(of_silence) <= {"TOKEN_MISSING"} | ended
    assert engine.metric('okey_connections_cut_total{reason="STRAYING"}') > 0
    assert then > seq
    assert match.timeouts == 0
    assert most - before < UNSENT * MOST_A_CONNECTION
