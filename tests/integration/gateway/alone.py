"""A gateway with no service behind it, and strangers who come to its port with raw bytes."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from okey_runtime.clock import Clock
from okey_runtime.config import Environment
from okey_runtime.server import ServiceServer
from services.gateway.app import GatewayApp
from services.gateway.settings import GatewaySettings
from tests.fixtures.issuer import Issuer
from tests.fixtures.limits import UNLIMITED
from tests.integration.gateway.stand import PATIENCE_S, url_of
from tests.metrics import sample

_NOWHERE = "127.0.0.1:1"
OPENING = (
    b"GET /ws HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)


class Stranger:
    """One connection that sends what it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def say(self, content: bytes) -> None:
        """Send it."""
        self._writer.write(content)
        await self._writer.drain()

    async def head(self) -> bytes:
        """An answer's head."""
        async with asyncio.timeout(PATIENCE_S):
            return await self._reader.readuntil(b"\r\n\r\n")

    async def frame(self) -> tuple[int, bytes]:
        """The next frame of a WebSocket, a short one: its first byte, and what it holds."""
        async with asyncio.timeout(PATIENCE_S):
            first, length = await self._reader.readexactly(2)
            if length == 126:
                length = int.from_bytes(await self._reader.readexactly(2), "big")
            return first, await self._reader.readexactly(length)

    async def close_code(self) -> int:
        """The code of the close that comes, after whatever else."""
        while True:
            first, content = await self.frame()
            if first == 0x88:
                return int.from_bytes(content[:2], "big")

    async def rest(self) -> bytes:
        """What comes until the gateway hangs up, or drops the connection."""
        content = b""
        async with asyncio.timeout(PATIENCE_S):
            try:
                while more := await self._reader.read(1 << 16):
                    content += more
            except ConnectionResetError:
                pass
        return content

    async def websocket(self, *headers: str) -> bytes:
        """Open a WebSocket; what the gateway says to that."""
        await self.say(OPENING + "".join(f"{each}\r\n" for each in headers).encode() + b"\r\n")
        head = await self.head()
        assert head.startswith(b"HTTP/1.1 101 "), head
        return head

    async def hello(self, token: str) -> None:
        """Say who it is, and be greeted."""
        content = b'{"hello": {"token": "%s"}}' % token.encode()
        length = len(content).to_bytes(2, "big")
        await self.say(bytes((0x81, 0x80 | 126)) + length + bytes(4) + content)
        assert b'"welcome"' in (await self.frame())[1]

    def close(self) -> None:
        self._writer.close()


class Alone:
    """The gateway; ``stranger`` connects from any address of this machine's own."""

    def __init__(self, server: ServiceServer, issuer: Issuer) -> None:
        self.server = server
        self.issuer = issuer
        self._strangers: list[Stranger] = []

    async def stranger(
        self, address: str = "127.0.0.1", receive_bytes: int | None = None
    ) -> Stranger:
        """A new connection; with a small buffer if it is to read nothing."""
        mine = socket.socket()
        if receive_bytes is not None:
            mine.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        mine.setblocking(False)
        mine.bind((address, 0))
        url = urlsplit(url_of(self.server))
        await asyncio.get_running_loop().sock_connect(mine, (url.hostname, url.port))
        found = Stranger(*await asyncio.open_connection(sock=mine, limit=1 << 16))
        self._strangers.append(found)
        return found

    async def exchange(self, request: bytes) -> bytes:
        """Everything that a request is answered, until the gateway hangs up."""
        stranger = await self.stranger()
        await stranger.say(request)
        return await stranger.rest()

    def leave(self) -> None:
        for stranger in self._strangers:
            stranger.close()


@asynccontextmanager
async def alone(folder: Path, clock: Clock | None = None, **settings: Any) -> AsyncIterator[Alone]:
    """A gateway with these settings; the issuer's key is made in the folder once."""
    issuer = Issuer(folder)
    shared = {"environment": Environment.TEST, "jwks_file": issuer.jwks_file, "stop_grace_ms": 0}
    found = GatewaySettings(
        lobby_address=_NOWHERE,
        engine_address=_NOWHERE,
        wallet_address=_NOWHERE,
        rating_address=_NOWHERE,
        **{**shared, **UNLIMITED, "gateway_cut_grace_ms": 50, **settings},
    )
    async with ServiceServer(GatewayApp(found), clock) as server:
        running = Alone(server, issuer)
        try:
            yield running
        finally:
            running.leave()


def dropped(reason: str) -> float:
    """How many connections were dropped for that."""
    return sample("okey_gateway_dropped_total", reason=reason)


def masked(first: int, content: bytes = b"") -> bytes:
    """A client's frame, with a mask that changes nothing."""
    assert len(content) < 126
    return bytes((first, 0x80 | len(content), 0, 0, 0, 0)) + content
