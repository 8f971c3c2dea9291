"""HTTP and WebSocket for the app, in the loop that runs already: uvicorn, without its signals."""

import asyncio
import contextlib
import socket
from collections.abc import Generator
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from services.gateway.heads import MOST_HEAD_BYTES
from services.gateway.stay import Port
from services.gateway.web_http import PortConfig

MAX_FRAME_BYTES: Final = 8 << 10
"""A hello with the longest token and a table; every other kind of frame is smaller."""
_PING_EVERY_S: Final = 20.0
_STOP_WITHIN_S: Final = 2


class WebServer(uvicorn.Server):
    """Serves an app on a port that it has bound already; ``run_until_stopped`` is its work."""

    def __init__(self, app: ASGIApp, host: str, number: int, port: Port) -> None:
        super().__init__(
            PortConfig(
                port,
                app=app,
                h11_max_incomplete_event_size=MOST_HEAD_BYTES,
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
            )
        )
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, number), family=family)
        self.url: Final = _url("http" if port.tls is None else "https", self._socket)
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
