"""Connections of one address: its share of the port, and what is cut of it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import grpc
import pytest
import structlog

from okey_runtime import connections
from okey_runtime.channel import open_channel
from okey_runtime.config import DEV_ISSUER, ServiceSettings
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import fixed_token
from tests import http2
from tests.fixtures.issuer import Issuer
from tests.metrics import sample
from tests.unit.runtime.caller import Caller
from tests.unit.runtime.echo import BIDI, UNARY, EchoApp, ask

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system lists no sockets"),
]

SHARE = 8
HEALTH = "/grpc.health.v1.Health/Check"
STRANGE, OTHER = "127.0.0.66", "127.0.0.67"

Dial = Callable[[str], socket.socket]


def cut(reason: str) -> float:
    return sample("okey_connections_cut_total", reason=reason)


async def counted(reason: str, count: float) -> None:
    """Returns once as many were cut."""
    while cut(reason) < count:  # noqa: ASYNC110 - prometheus has no event to wait for
        await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def is_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_EVERY_MS", 10)
    monkeypatch.setattr(connections, "_STRAYS_AT_ONCE", 10)


@pytest.fixture
def real(tmp_path: Path) -> Issuer:
    """Its tokens hold by the time of day, by which the server looks."""
    folder = tmp_path / "real"
    folder.mkdir()
    return Issuer(folder)


@pytest.fixture
async def port(settings: ServiceSettings, real: Issuer) -> AsyncIterator[int]:
    """Of a server where an address has few connections and the port a few more."""
    most = {"jwks_file": real.jwks_file, "token_issuer": DEV_ISSUER}
    most |= {"most_connections_per_address": SHARE, "most_connections": 4 * SHARE}
    async with ServiceServer(EchoApp(settings.model_copy(update=most))) as server:
        yield int(server.address.rpartition(":")[2])


@pytest.fixture
def dial(port: int) -> Iterator[Dial]:
    with ExitStack() as opened:

        def dial(address: str) -> socket.socket:
            found = socket.create_connection(("127.0.0.1", port), source_address=(address, 0))
            found.setblocking(False)
            return opened.enter_context(found)

        yield dial


async def ended(connection: socket.socket) -> None:
    """Returns once the server has ended it, whatever it has said before."""
    loop = asyncio.get_running_loop()
    try:
        while await loop.sock_recv(connection, 4_096):
            pass
    except ConnectionResetError:
        return


async def answers(connection: socket.socket) -> None:
    """The server speaks HTTP/2 over it."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(connection, http2.hello())
    assert await loop.sock_recv(connection, 4_096)


@asynccontextmanager
async def player(port: int, real: Issuer) -> AsyncIterator[Caller]:
    provider = fixed_token(real.token("ayse"))
    async with open_channel(f"127.0.0.1:{port}", token=provider) as channel:
        yield Caller(channel)


async def test_an_address_keeps_its_share_and_others_find_the_rest(dial: Dial) -> None:
    before = cut("CROWDED")
    crowd: list[socket.socket] = []
    for _ in range(6):  # more than the port takes, in the end
        more = [dial(STRANGE) for _ in range(SHARE)]
        crowd += more
        while len(crowd) > SHARE:
            await ended(crowd.pop(0))
    await answers(dial(OTHER))
    await counted("CROWDED", before + 5 * SHARE)


async def test_a_newcomer_finds_a_place_and_the_longest_silence_goes(
    dial: Dial, port: int, real: Issuer
) -> None:
    crowd = [dial("127.0.0.1") for _ in range(SHARE)]
    async with player(port, real) as caller:
        await caller.call(UNARY, ask())
        await ended(crowd[0])
        crowd += [dial("127.0.0.1") for _ in range(SHARE)]
        for each in crowd[1 : SHARE + 1]:
            await ended(each)
        await caller.call(UNARY, ask())
        assert caller.channel.get_state() is grpc.ChannelConnectivity.READY


async def test_an_address_within_its_share_is_left_alone(dial: Dial) -> None:
    calm = [dial(OTHER) for _ in range(SHARE)]
    crowd = [dial(STRANGE) for _ in range(SHARE + 3)]
    for each in crowd[:3]:
        await ended(each)
    for each in [*calm, *crowd[3:]]:
        await answers(each)


def call(number: int, method: str) -> bytes:
    return http2.headers(number, method) + http2.reset(number)


@pytest.mark.parametrize("method", [UNARY, BIDI, HEALTH])
async def test_calls_that_are_reset_again_and_again_lose_their_connection(
    dial: Dial, port: int, real: Issuer, method: str
) -> None:
    before = cut("STRAYING")
    loop = asyncio.get_running_loop()
    connection = dial(STRANGE)
    many = b"".join(call(2 * number + 1, method) for number in range(500))
    async with player(port, real) as caller:
        await caller.call(UNARY, ask())
        sending = asyncio.create_task(loop.sock_sendall(connection, http2.hello() + many))
        await ended(connection)
        await asyncio.gather(sending, return_exceptions=True)
        await caller.call(UNARY, ask())
    await counted("STRAYING", before + 1)


async def test_a_connection_of_somebody_known_is_not_cut_for_strangers_calls(
    port: int, real: Issuer
) -> None:
    """As an edge's, which carries the calls of all."""
    before = cut("STRAYING")
    ayse = ("authorization", f"Bearer {real.token('ayse')}")
    async with open_channel(f"127.0.0.1:{port}") as channel:
        edge = Caller(channel)
        await edge.call(UNARY, ask(), metadata=[ayse])
        for _ in range(20):
            assert (await edge.failure(UNARY, ask())).reason == "TOKEN_MISSING"
        await edge.call(UNARY, ask(), metadata=[ayse])
    assert cut("STRAYING") == before


async def test_a_connection_of_strangers_alone_is_cut_for_the_same_calls(port: int) -> None:
    before = cut("STRAYING")
    async with open_channel(f"127.0.0.1:{port}") as channel:
        stranger = Caller(channel)
        while (await stranger.failure(UNARY, ask())).reason == "TOKEN_MISSING":
            pass
        await counted("STRAYING", before + 1)


async def test_where_the_system_lists_no_sockets_nothing_is_cut_and_the_log_says_so(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_FOLDER", Path("/proc/self/nothing"))
    with structlog.testing.capture_logs() as lines:
        server = ServiceServer(EchoApp(settings))
        async with server, open_channel(server.address) as channel:
            for _ in range(20):
                failure = await Caller(channel).failure(UNARY, ask())
                assert failure.reason == "TOKEN_MISSING"
    events = [line["event"] for line in lines]
    assert events.count("connections_of_an_address_are_not_bounded") == 1
