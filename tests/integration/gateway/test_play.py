"""Tables over the WebSocket: a whole match, broken connections, gateways that go, slow readers."""

import asyncio
import itertools
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import orjson
import pytest
from starlette.types import Message, Scope
from starlette.websockets import WebSocket

from okey.api.engine.v1 import engine_pb2
from okey_runtime.server import ServiceServer
from services.gateway.app import GatewayApp
from services.gateway.session import Session
from tests.integration.engine.platform import settled
from tests.integration.gateway.playing import play_match, seq_of
from tests.integration.gateway.stand import Frame, Stand, browser, rpc, url_of

SOLO = {"mode": "MODE_SOLO", "seat_count": 2, "stake": 100}

_numbers = itertools.count(1)


async def open_solo(gateway: ServiceServer, token: str) -> str:
    made = await rpc(
        gateway,
        token,
        "LobbyService/CreateTable",
        request_id=f"solo-table-{next(_numbers)}",
        terms=SOLO,
    )
    table_id: str = made["table_id"]
    return table_id


def require_every_row_once(frames: list[Frame]) -> None:
    """Rows follow each other without a gap from the first one on."""
    seqs = [seq_of(frame) for frame in frames if seq_of(frame)]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))


async def test_a_whole_solo_match_is_played_over_the_websocket(
    world: Stand, gateway: ServiceServer
) -> None:
    token = world.issuer.token("ada", name="Ada")
    table_id = await open_solo(gateway, token)
    async with browser(gateway, token, table_id=table_id, with_view=True) as ada:
        welcome = (await ada.hear())["welcome"]
        assert (welcome["player_id"], welcome["name"]) == ("ada", "Ada")
        frames = await play_match(ada)
    require_every_row_once(frames)
    assert {frame["table_id"] for frame in frames} == {table_id}
    results = [frame["table"]["result"] for frame in frames if "result" in frame["table"]]
    assert sum(int(result["seq"]) > 0 for result in results) >= 2


async def test_a_broken_connection_is_resumed_where_it_broke(
    world: Stand, gateway: ServiceServer
) -> None:
    token = world.issuer.token("bob")
    table_id = await open_solo(gateway, token)
    async with browser(gateway, token, table_id=table_id, with_view=True) as bob:
        await bob.hear("welcome")
        frames = await play_match(bob, until_seq=12)
        bob.socket.transport.abort()
    cursor = str(max(map(seq_of, frames)))
    async with browser(gateway, token, table_id=table_id, with_view=True, cursor=cursor) as again:
        await again.hear("welcome")
        frames += await play_match(again)
    require_every_row_once(frames)


async def test_a_table_that_is_loaded_anew_is_seen_as_a_pause(
    world: Stand, gateway: ServiceServer
) -> None:
    """Upstream the gateway resumes by itself, also a command that waits for its answer."""
    token = world.issuer.token("cem")
    table_id = await open_solo(gateway, token)
    async with browser(gateway, token, table_id=table_id, with_view=True) as cem:
        await cem.hear("welcome")
        frames = await play_match(cem, until_seq=12)
        operator = await world.operator()
        release = engine_pb2.ReleaseTableRequest(table_id=table_id)
        await settled(lambda: operator.ReleaseTable(release))
        frames += await play_match(cem)
    assert {"of": "table"} in [frame.get("away") for frame in frames]
    require_every_row_once(frames)


async def test_a_gateway_that_stops_sends_its_players_to_another(
    world: Stand, gateway: ServiceServer
) -> None:
    token = world.issuer.token("deniz")
    settings = world.gateway_settings(gateway_return_within_ms=3_000)
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(ServiceServer(GatewayApp(settings)))
        table_id = await open_solo(first, token)
        async with browser(first, token, table_id=table_id, with_view=True) as deniz:
            await deniz.hear("welcome")
            frames = await play_match(deniz, until_seq=12)
            stopping = asyncio.create_task(stack.aclose())
            while "end" not in frames[-1]:
                frames.append(await deniz.hear())
            end = frames.pop()["end"]
            assert (end["of"], end["reason"]) == ("connection", "GATEWAY_STOPPING")
            assert end["is_resumable"] is True
            assert 0 <= end["retry_after_ms"] <= 3_000
            assert await deniz.close_code() == 1012
        await stopping
    port = urlsplit(url_of(first)).port
    with pytest.raises(OSError, match="onnect"):
        await asyncio.open_connection("127.0.0.1", port)
    cursor = max(map(seq_of, frames))
    again = browser(gateway, token, table_id=table_id, with_view=True, cursor=cursor)
    async with again as deniz:
        await deniz.hear("welcome")
        frames += await play_match(deniz)
    require_every_row_once(frames)


class DeafClient:
    """The server's side of a connection whose client says hello, reads so many frames, and goes on
    once ``hears`` is set.
    """

    def __init__(self, hello: Frame, reads: int) -> None:
        self._said: asyncio.Queue[Message] = asyncio.Queue()
        self._said.put_nowait({"type": "websocket.connect"})
        text = orjson.dumps({"hello": hello}).decode()
        self._said.put_nowait({"type": "websocket.receive", "text": text})
        self._reads = reads
        self.hears = asyncio.Event()
        self.dropped = asyncio.Event()
        self.heard: list[Message] = []

    async def send(self, message: Message) -> None:
        if len(self.heard) >= self._reads:
            await self.hears.wait()
        self.heard.append(message)

    def socket(self) -> WebSocket:
        def drop() -> None:
            self.dropped.set()
            self.hears.set()

        means = {"abort": drop, "admit": lambda: None}
        scope: Scope = {
            "type": "websocket",
            "client": ("192.0.2.1", 0),
            "extensions": {"okey.connection": means},
        }
        return WebSocket(scope, self._said.get, self.send)


async def play_beside(
    world: Stand, gateway: ServiceServer, player: str
) -> tuple[DeafClient, "asyncio.Task[None]"]:
    """Play a match as the player while another connection of the same player does not read."""
    token = world.issuer.token(player)
    table_id = await open_solo(gateway, token)
    deaf = DeafClient({"token": token, "table_id": table_id, "with_view": True}, reads=3)
    socket = deaf.socket()
    await socket.accept()
    assert isinstance(gateway.app, GatewayApp)
    serving = asyncio.create_task(Session(socket, gateway.app.shared).run())
    async with browser(gateway, token, table_id=table_id, with_view=True) as other:
        await other.hear("welcome")
        await play_match(other)
    return deaf, serving


async def test_a_reader_that_is_too_slow_is_told_so_when_it_reads(world: Stand) -> None:
    gateway = await world.start_gateway(gateway_queue_frames=8, gateway_cut_grace_ms=20_000)
    deaf, serving = await play_beside(world, gateway, "elif")
    deaf.hears.set()
    await serving
    *_, last, close = deaf.heard
    end = orjson.loads(last["text"])["end"]
    assert (end["reason"], end["is_resumable"]) == ("SLOW_READER", True)
    assert (close["type"], close["code"]) == ("websocket.close", 4008)
    # What waited was dropped: accept, three frames that had been begun, and the end.
    assert len(deaf.heard) < 8
    assert not deaf.dropped.is_set()


async def test_a_reader_that_never_reads_is_dropped(world: Stand) -> None:
    """Otherwise what was sent to it would be kept for as long as its network pretends to live."""
    gateway = await world.start_gateway(gateway_queue_frames=8, gateway_cut_grace_ms=0)
    deaf, serving = await play_beside(world, gateway, "fatma")
    await deaf.dropped.wait()
    await serving


async def test_who_asks_faster_than_it_reads_is_not_cut(world: Stand) -> None:
    """It waits for its own answers."""
    gateway = await world.start_gateway(gateway_queue_frames=8)
    async with browser(gateway, world.issuer.token("guel")) as player:
        for number in range(200):
            await player.say(ping={"id": number})
        pongs = [(await player.hear("pong"))["pong"]["id"] for _ in range(200)]
    assert pongs == list(range(200))
