"""HTTP at the port: who comes in, and how long a request and its answer may take.

uvicorn waits for a request as long as its peer likes, and counts no addresses; the rest is its.
"""

import asyncio
from asyncio.sslproto import SSLProtocol
from functools import partial
from typing import Any, Final, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.server import ServerState

from services.gateway.heads import RequestUnfit, check_head, is_within, origin_of
from services.gateway.metrics import DROPPED
from services.gateway.places import AddressBusy
from services.gateway.stay import Port, Stay
from services.gateway.web_socket import PlayersSocket

PIECE_BYTES: Final = 4 << 10
"""How much is parsed at once, so that h11's bound of a head holds whatever comes together."""
_MOST_REQUEST_BYTES: Final = 256 << 10
"""Of one request, also of what nobody reads any more because it was answered before."""
_LATE: Final = b"the request did not come in time\n"


class PortConfig(uvicorn.Config):
    """uvicorn's settings, and what connections share."""

    def __init__(self, port: Port, **settings: Any) -> None:
        super().__init__(http=cast(Any, Door), ws=PlayersSocket, **settings)
        self.shared: Final = port


class Door(asyncio.Protocol):
    """What each accepted connection meets first: it gets a place or goes, and begins to speak TLS
    where that is spoken.
    """

    def __init__(
        self,
        config: PortConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._port = config.shared
        self._make = partial(BoundedHttp, config, server_state, app_state, _loop)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let it in, if there is a place."""
        accepted, port = cast(asyncio.Transport, transport), self._port
        stay, peer = Stay(accepted), peer_of(accepted)
        address = origin_of(peer, (), ())
        try:
            stay.take(port.strangers, address, is_proxy=is_within(peer, port.proxies))
        except AddressBusy:
            stay.drop("CROWDED")
            return
        stay.wait(port.request_ms)
        inner: asyncio.BaseProtocol = self._make(stay)
        if port.tls is not None:
            inner = _Tls(inner, port, stay)
        accepted.set_protocol(inner)
        inner.connection_made(accepted)


class _Tls(SSLProtocol):
    """TLS below HTTP; a handshake that is never finished leaves its place too."""

    max_size = 32 << 10
    """Of the buffer that each connection has; 256 KiB by default."""

    def __init__(self, inner: asyncio.BaseProtocol, port: Port, stay: Stay) -> None:
        assert port.tls is not None, "TLS is spoken"
        super().__init__(
            asyncio.get_running_loop(),
            inner,
            port.tls.newest(),
            cast(Any, None),
            server_side=True,
            # Fractions are taken too, whatever the stubs say; the stay ends it before anyway.
            ssl_handshake_timeout=cast(int, port.request_ms / 1000),
            ssl_shutdown_timeout=cast(int, port.request_ms / 1000),
        )
        self._stay = stay

    def connection_lost(self, exc: BaseException | None) -> None:
        """The connection below is gone."""
        self._stay.leave()
        super().connection_lost(exc)


class BoundedHttp(H11Protocol):
    """One connection; the clock of its stay runs from request to answer to the next request."""

    def __init__(
        self,
        config: PortConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None,
        stay: Stay,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._port = config.shared
        self._stay = stay
        self._request_bytes = 0
        self._is_serving = False
        self._is_upgraded = False

    def connection_lost(self, exc: Exception | None) -> None:
        """The peer has gone, or was dropped."""
        self._stay.leave()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, a piece at a time."""
        if not self._request_bytes and not self._is_serving:
            self._await_request()
        self._request_bytes += len(data)
        if self._request_bytes > _MOST_REQUEST_BYTES:
            self._stay.drop("REQUEST_TOO_LONG")
            return
        for start in range(0, len(data), PIECE_BYTES):
            if self._is_upgraded or self.transport.is_closing():
                return
            super().data_received(data[start : start + PIECE_BYTES])
        self._note_request()

    def on_response_complete(self) -> None:
        """The next request has its own time. A peer that sends it before it has its answer loses
        the connection: no browser does so, and a hundred at once would hold up all others.
        """
        if self.conn.trailing_data[0]:
            self._stay.drop("PIPELINED")
        self._request_bytes, self._is_serving = 0, False
        self._await_request()
        super().on_response_complete()
        self._note_request()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; inside an answer nothing else can be said."""
        DROPPED.labels("NO_HTTP").inc()
        self._answer_without_app(400, msg.encode())

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection over; a WebSocket without a hello has a place of another kind."""
        self._is_upgraded = True
        address = self.scope["client"][0] if self.scope["client"] else ""
        port = self._port
        if port.openings.take(address, ""):
            self._stay.drop("CROWDED")
            return
        try:
            self._stay.take(port.hellos, address)
        except AddressBusy:
            self._stay.drop("CROWDED")
            return
        # A hello has its own time in the session; this clock is for who does not go then.
        self._stay.within(port.hello_ms + 2 * port.grace_ms, "HELLO")
        make = partial(PlayersSocket, stay=self._stay, address=address)
        self.ws_protocol_class = cast(type[asyncio.Protocol], make)
        super().handle_websocket_upgrade(event)

    def _should_upgrade(self) -> bool:
        """Asked for each request before it is served: note where it comes from."""
        origin = origin_of(peer_of(self.transport), self.headers, self._port.proxies)
        self.scope["client"] = (origin, 0)
        if self._get_upgrade() != b"websocket" or self.scope["method"] != "GET":
            return False
        try:
            check_head(self.scope)
        except RequestUnfit:
            return False  # the app says so
        return True

    @property
    def _cycle(self) -> RequestResponseCycle | None:
        """The newest request and its answer; its type there leaves out that there is none yet."""
        return self.cycle

    def _await_request(self) -> None:
        self._stay.wait(self._port.request_ms, self._too_late)

    def _note_request(self) -> None:
        """Once a request is complete, the next clock is the answer's."""
        cycle = self._cycle
        if self._is_serving or cycle is None or cycle.response_complete or cycle.more_body:
            return
        self._is_serving = True
        self._stay.serve(self._port.answer_ms)

    def _too_late(self) -> None:
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            self._stay.drop("UNREAD")
            return
        DROPPED.labels("REQUEST_LATE").inc()
        self._stay.within(self._port.grace_ms, "UNREAD")
        if self._request_bytes:
            self._answer_without_app(408, _LATE)
        else:
            self.transport.close()

    def _answer_without_app(self, status: int, body: bytes) -> None:
        """Answer, and hang up; the app learns that nobody is there any more."""
        cycle = self._cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
            for event in (
                h11.Response(status_code=status, headers=headers),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event))
        self.transport.close()


def peer_of(transport: asyncio.BaseTransport) -> str:
    """The address of the other end; empty where it has none."""
    peer = get_remote_addr(cast(asyncio.Transport, transport))
    return "" if peer is None else peer[0]
