"""Attacks on HTTP/2 and on connections themselves, at gRPC's ports and at Envoy."""

import asyncio
import os
import struct
from collections.abc import Awaitable
from typing import Final

from tests import http2
from tests.attack.content import CALLS
from tests.attack.http2 import Act, Http2, keep_on
from tests.attack.raid import Attack, Raid
from tests.http2 import frame, header_block, literal

HEALTH: Final = "/grpc.health.v1.Health/Watch"
WATCH: Final = "/okey.api.engine.v1.TableService/WatchTable"

_CONNECTIONS: Final = 4
_RESETS_PER_S: Final = 2_000
_UNFINISHED_PER_S: Final = 500
_FRAMES_PER_S: Final = 4_000
_CONTINUATIONS_PER_S: Final = 500
_BODY: Final = 900_000
_HALF_BODIES: Final = 100
_SILENT_PER_S: Final = 400
_HANDSHAKES_PER_S: Final = 300
_BLIND_STREAMS: Final = 200
_TLS_HELLO: Final = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


def targets(raid: Raid, way: str) -> list[tuple[str, str]]:
    """Addresses with a call that is served there: Envoy, or an engine and a wallet."""
    if way == "edge":
        return [(raid.aim.edge, CALLS["engine"])]
    return [(raid.aim.services[kind], CALLS[kind]) for kind in ("engine", "wallet")]


def on_connections(way: str, act: Act, count: int = _CONNECTIONS) -> Attack:
    """Do it on this many connections to each target."""

    async def attack(raid: Raid) -> None:
        await raid.go()
        await raid.side_by_side(
            keep_on(raid, *each, act) for each in targets(raid, way) for _ in range(count)
        )

    return attack


def rapid_reset(way: str) -> Attack:
    """Calls that are cancelled in the same breath."""

    async def act(raid: Raid, peer: Http2, path: str) -> None:
        block = header_block(path)
        async for _ in raid.ticks(_RESETS_PER_S / _CONNECTIONS):
            number = await peer.headers(block)
            await peer.line.send(http2.reset(number))

    return on_connections(way, act)


def unfinished_calls(way: str) -> Attack:
    """Calls of which only the headers come."""

    async def act(raid: Raid, peer: Http2, path: str) -> None:
        block = header_block(path)
        async for _ in raid.ticks(_UNFINISHED_PER_S / _CONNECTIONS):
            await peer.headers(block)

    return on_connections(way, act)


def continuations(way: str) -> Attack:
    """Headers that never end."""

    async def act(raid: Raid, peer: Http2, path: str) -> None:
        number = await peer.headers(header_block(path), flags=0)
        more = b"".join(literal(f"x-{at}", "y" * 100) for at in range(100))
        async for _ in raid.ticks(_CONTINUATIONS_PER_S / _CONNECTIONS):
            await peer.line.send(frame(http2.CONTINUATION, 0, number, more))

    return on_connections(way, act)


def half_bodies(way: str) -> Attack:
    """Messages of 900 kB of which all but the last byte comes."""

    async def act(raid: Raid, peer: Http2, path: str) -> None:
        async def one() -> None:
            number = await peer.headers(header_block(path))
            await peer.data(number, b"\x00" + struct.pack(">I", _BODY) + bytes(_BODY - 1))

        sending = [asyncio.create_task(one()) for _ in range(_HALF_BODIES // _CONNECTIONS)]
        try:
            await asyncio.gather(*sending)
            await asyncio.sleep(raid.left_s)
        finally:
            for task in sending:
                task.cancel()

    return on_connections(way, act)


def silent(way: str) -> Attack:
    """Connections that say nothing, or half of the first words."""

    async def attack(raid: Raid) -> None:
        await raid.go()
        sayings = (b"", http2.PREFACE[:12], http2.PREFACE)

        async def once(address: str, number: int) -> None:
            line = await raid.connect(address)
            await line.send(sayings[number % len(sayings)])
            await raid.hear(line)

        def at(address: str) -> Awaitable[None]:
            return raid.again_and_again(_SILENT_PER_S, lambda n: once(address, n), at_once=2_000)

        await raid.side_by_side(_of(at(address)) for address, _ in targets(raid, way))

    return attack


async def _of(work: Awaitable[None]) -> None:
    await work


def handshakes(way: str) -> Attack:
    """Connections that begin TLS where none is spoken, or talk nonsense, and go."""

    async def attack(raid: Raid) -> None:
        junk = os.urandom(400)
        await raid.go()
        sayings = (_TLS_HELLO + junk, junk, http2.PREFACE + junk, b"GET / HTTP/1.1\r\n\r\n")

        async def once(address: str, number: int) -> None:
            line = await raid.connect(address)
            await line.send(sayings[number % len(sayings)])
            await asyncio.sleep(0.05)
            line.abort()

        def at(address: str) -> Awaitable[None]:
            return raid.again_and_again(_HANDSHAKES_PER_S, lambda n: once(address, n), at_once=200)

        await raid.side_by_side(_of(at(address)) for address, _ in targets(raid, way))

    return attack


def control_frames(way: str) -> Attack:
    """PING and SETTINGS without a pause."""

    async def act(raid: Raid, peer: Http2, path: str) -> None:
        del path
        ping = frame(http2.PING, 0, 0, bytes(8))
        settings = http2.settings({http2.INITIAL_WINDOW: 65_535})
        async for number in raid.ticks(_FRAMES_PER_S / _CONNECTIONS):
            await peer.line.send(settings if number % 4 == 0 else ping)

    return on_connections(way, act)


def blind_readers(way: str) -> Attack:
    """Calls whose answers may never be sent: no window for them, and the socket is not read."""

    async def attack(raid: Raid) -> None:
        await raid.go()
        table = raid.aim.tables[-1].encode()
        watch = b"\x0a" + bytes((len(table),)) + table + b"\x18\x01"
        token = ("authorization", f"Bearer {raid.aim.players[0]}")
        calls = (
            (header_block(HEALTH), http2.grpc_message(b"")),
            (header_block(WATCH, [token]), http2.grpc_message(watch)),
        )

        async def one(address: str, number: int) -> None:
            line = await raid.connect(address, receive_bytes=2_048)
            await line.send(http2.hello({http2.INITIAL_WINDOW: 0}))
            peer = Http2(raid, line)
            for at in range(_BLIND_STREAMS // _CONNECTIONS):
                block, body = calls[(number + at) % 2]
                await peer.call(block, body)
            async for _ in raid.ticks(100):
                await line.send(frame(http2.PING, 0, 0, bytes(8)))

        await raid.side_by_side(
            one(address, number)
            for address, _ in targets(raid, way)
            for number in range(_CONNECTIONS)
        )

    return attack
