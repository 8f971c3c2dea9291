"""HTTP and WebSocket for the app, in the loop that runs already: uvicorn, without its signals."""

import asyncio
import contextlib
import socket
from collections.abc import Generator
from typing import Final

import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from services.gateway.web_tls import WebTls

MAX_FRAME_BYTES: Final = 64 << 10
_ABORT: Final = "okey.abort"
_PING_EVERY_S: Final = 20.0
_STOP_WITHIN_S: Final = 2


class Droppable(WebSocketsSansIOProtocol):
    """A connection that the app can drop although its peer does not read.

    An orderly close waits until everything is sent, which may be never.
    """

    async def run_asgi(self) -> None:
        """Run the app, which finds the means to drop the connection in its scope."""
        extensions = dict(self.scope.get("extensions") or {})
        self.scope["extensions"] = {**extensions, _ABORT: {"abort": self.transport.abort}}
        await super().run_asgi()

    async def send(self, message: ASGISendEvent) -> None:
        """Send a frame; where the connection is being closed already, as after a frame that was too
        long, nobody is there any more, and the app has done nothing wrong.
        """
        if self.close_sent:
            raise ClientDisconnected
        await super().send(message)


def abort(scope: Scope) -> None:
    """Drop a WebSocket's connection at once, with whatever was not sent."""
    scope["extensions"][_ABORT]["abort"]()


class WebServer(uvicorn.Server):
    """Serves an app on a port that it has bound already; ``run_until_stopped`` is its work."""

    def __init__(self, app: ASGIApp, host: str, port: int, tls: WebTls | None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                ws=Droppable,
                ws_max_size=MAX_FRAME_BYTES,
                ws_ping_interval=_PING_EVERY_S,
                ws_ping_timeout=_PING_EVERY_S,
                # A frame holds what one player may see; compressing it costs more than it brings.
                ws_per_message_deflate=False,
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=_STOP_WITHIN_S,
                ssl_context_factory=None if tls is None else lambda *_: tls.context,
            )
        )
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family)
        self.url: Final = _url("http" if tls is None else "https", self._socket)
        """The address of the page."""
        self._ready = asyncio.Event()

    async def run_until_stopped(self) -> None:
        """Serve until ``stop``."""
        await self.serve([self._socket])

    async def wait_ready(self) -> None:
        """Return once requests are taken."""
        await self._ready.wait()

    def stop(self) -> None:
        """Take no more requests, and end."""
        self.should_exit = True

    def close(self) -> None:
        """Free the port, also where it was never served."""
        self._socket.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve; the base calls it."""
        await super().startup(sockets)
        self._ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Signals are the service's, which drains first."""
        yield


def _url(scheme: str, listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"
