"""Attacks on the gateway: HTTP/1.1 and WebSocket by hand."""

import asyncio
import base64
import os
import struct
from collections.abc import Awaitable, Callable
from typing import Final

from tests.attack.raid import Attack, Line, Raid

_HOST: Final = "Host: 127.0.0.1\r\n"
_CRAWLERS: Final = 300
_GARBAGE_PER_S: Final = 200
_OPENS_PER_S: Final = 300
_ABORTS_PER_S: Final = 200
_INVALID_PER_S: Final = 100
_SOCKETS: Final = 10
_FRAMES_PER_S: Final = 4_000
_UNREAD: Final = 2
_UNREAD_PER_S: Final = 80_000
_TEXT, _PING, _CONTINUED, _FINAL = 1, 9, 0, 0x80


def _once(
    per_s: float, act: Callable[[Raid, Line, int], Awaitable[None]], at_once: int = 2_000
) -> Attack:
    """A new connection that often, to do it once."""

    async def attack(raid: Raid) -> None:
        await raid.go()

        async def once(number: int) -> None:
            await act(raid, await raid.connect(raid.aim.gateway), number)

        await raid.again_and_again(per_s, once, at_once)

    return attack


def _crawling(opening: bytes, more: bytes) -> Attack:
    """Many connections that say a little, and a little more each half second."""

    async def attack(raid: Raid) -> None:
        await raid.go()

        async def one() -> None:
            line = await raid.connect(raid.aim.gateway)
            await line.send(opening)
            hearing = asyncio.create_task(raid.hear(line))
            while not raid.is_over and not hearing.done():
                await line.send(more)
                await asyncio.wait({hearing}, timeout=0.5)
            hearing.cancel()

        await raid.side_by_side(one() for _ in range(_CRAWLERS))

    return attack


def slow_headers() -> Attack:
    """Slowloris: a header each half second."""
    return _crawling(f"GET / HTTP/1.1\r\n{_HOST}".encode(), b"X-More: 1\r\n")


def slow_bodies() -> Attack:
    """A body of 60 kB, ten bytes each half second."""
    return _crawling(_post(60_000), b"          ")


def garbage() -> Attack:
    """What is no HTTP, and broken HTTP of several kinds."""

    async def act(raid: Raid, line: Line, number: int) -> None:
        sayings = (
            os.urandom(300),
            b"GET / HTTP/1.1\r\n" + b"A" * 30_000,
            b"GET / HTTP/9.9\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
            b"GET \x00\x01 HTTP/1.1\r\n\r\n",
            f"GET /ws HTTP/1.1\r\n{_HOST}Upgrade: websocket\r\n\r\n".encode(),
        )
        await line.send(sayings[number % len(sayings)])
        await raid.hear(line)

    return _once(_GARBAGE_PER_S, act, at_once=300)


def pipelined() -> Attack:
    """A hundred requests in one breath, garbage behind them, and nobody who reads the answers."""

    async def act(raid: Raid, line: Line, number: int) -> None:
        del number
        one = f"GET /static/app.js HTTP/1.1\r\n{_HOST}\r\n".encode()
        await line.send(one * 100 + os.urandom(300))
        await asyncio.sleep(raid.left_s)

    return _once(10, act, at_once=60)


def no_hello() -> Attack:
    """WebSockets that never say who they are."""

    async def act(raid: Raid, line: Line, number: int) -> None:
        del number
        await line.send(_upgrade())
        await raid.hear(line)

    return _once(_OPENS_PER_S, act, at_once=6_000)


def pings() -> Attack:
    """Pings of 125 bytes without a pause, before any hello; the pongs are read."""
    return _flooding(
        lambda _: _frame(_PING | _FINAL, bytes(125)), _FRAMES_PER_S / _SOCKETS, reads=True
    )


def unread_pongs() -> Attack:
    """The same on two connections, much faster, and the pongs are not read."""
    many = _frame(_PING | _FINAL, bytes(125)) * 100
    return _flooding(lambda _: many, _UNREAD_PER_S / _UNREAD / 100, _UNREAD)


def empty_fragments() -> Attack:
    """A message that goes on for ever in empty pieces."""

    def piece(number: int) -> bytes:
        return _frame(_CONTINUED if number else _TEXT, b"") + _frame(_CONTINUED, b"") * 19

    return _flooding(piece, _FRAMES_PER_S / _SOCKETS / 20, reads=True)


def invalid_frames() -> Attack:
    """Frames that no peer may send, and first frames that are no hello."""
    deep = b'{"hello":' + b"[" * 30_000
    sayings = (
        b"\xff\xff" + bytes(20),
        b"\x81\x05hello",
        _frame(_TEXT | _FINAL, b"\xff\xfe\xfd"),
        _frame(_PING | _FINAL, bytes(126)),
        _frame(_TEXT | _FINAL, deep),
        _frame(_TEXT | _FINAL, b'{"hello":{"token":"x.y.z"}}'),
        _frame(_TEXT | _FINAL, bytes(70_000)),
        _frame(0x88, b"\x00"),
    )

    async def act(raid: Raid, line: Line, number: int) -> None:
        await line.send(_upgrade())
        await line.read()
        await line.send(sayings[number % len(sayings)])
        raid.spent.requests += 1
        await raid.hear(line)

    return _once(_INVALID_PER_S, act, at_once=300)


def aborted_posts() -> Attack:
    """Half a body, then the connection breaks."""

    async def act(raid: Raid, line: Line, number: int) -> None:
        await line.send(_post(5_000, raid.aim.players[0] if number % 2 else "") + b"{" * 1_000)
        raid.spent.requests += 1
        await asyncio.sleep(0.05)
        line.abort()

    return _once(_ABORTS_PER_S, act, at_once=100)


def _flooding(
    piece: Callable[[int], bytes], per_s: float, sockets: int = _SOCKETS, *, reads: bool = False
) -> Attack:
    """Frames without a pause on some WebSockets, each opened again when the victim ends it."""

    async def attack(raid: Raid) -> None:
        await raid.go()

        async def one() -> None:
            while not raid.is_over:
                line = await raid.connect(raid.aim.gateway, 0 if reads else 4_096)
                await line.send(_upgrade())
                await line.read()
                hearing = asyncio.create_task(raid.hear(line) if reads else asyncio.sleep(60))
                try:
                    async for number in raid.ticks(per_s):
                        if hearing.done():
                            break
                        await line.send(piece(number))
                        raid.spent.requests += 1
                except ConnectionError:
                    raid.spent.answers["broken off"] += 1
                finally:
                    hearing.cancel()
                    line.abort()
                await asyncio.sleep(0.05)

        await raid.side_by_side(one() for _ in range(sockets))

    return attack


def _upgrade() -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET /ws HTTP/1.1\r\n{_HOST}Upgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def _post(length: int, token: str = "") -> bytes:
    said = f"Authorization: Bearer {token}\r\n" if token else ""
    return (
        f"POST /rpc/TableService/WhereAmI HTTP/1.1\r\n{_HOST}Content-Type: application/json\r\n"
        f"{said}Content-Length: {length}\r\n\r\n"
    ).encode()


def _frame(first: int, content: bytes) -> bytes:
    """One frame of a client, masked with zeroes."""
    length = len(content)
    if length < 126:
        head = bytes((first, 0x80 | length))
    elif length < 1 << 16:
        head = bytes((first, 0x80 | 126)) + struct.pack(">H", length)
    else:
        head = bytes((first, 0x80 | 127)) + struct.pack(">Q", length)
    return head + bytes(4) + content
