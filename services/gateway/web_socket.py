"""A WebSocket at the port: what its peer may make us do and keep.

uvicorn answers each ping at once, also to a peer that does not read, and keeps each fragment of a
message, also an empty one; the rest is its.
"""

import itertools
from typing import Any, Final, cast

import uvicorn
from starlette.types import Scope
from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import CloseCode, Frame

from services.gateway.metrics import DROPPED
from services.gateway.stay import Port, Stay

_PIECE_BYTES: Final = 2 << 10
"""How much is parsed at once: some hundreds of the smallest frames."""
_MOST_FRAGMENTS: Final = 64
_MOST_AFTER_CLOSE_BYTES: Final = 64 << 10
_CONNECTION: Final = "okey.connection"
_numbers = itertools.count(1)


class PlayersSocket(WebSocketsSansIOProtocol):
    """One connection. It is read only while the app takes its messages and its peer reads ours."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        *,
        stay: Stay,
        address: str,
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._port: Port = config.shared  # type: ignore[attr-defined]
        self._stay = stay
        self._address = address
        self._number = str(next(_numbers))
        self._unparsed = bytearray()
        self._after_close_bytes = 0

    async def run_asgi(self) -> None:
        """Run the app, which finds the connection in its scope; then it has a moment to close."""
        self.scope["client"] = (self._address, 0)
        extensions = cast(dict[str, Any], self.scope["extensions"])
        extensions[_CONNECTION] = {
            "abort": lambda: self._stay.drop("UNREAD"),
            "admit": self._stay.admit,
        }
        try:
            await super().run_asgi()
        finally:
            self._stay.within(self._port.grace_ms, "UNREAD")
            # They lead back here: without them nothing waits for the garbage collector.
            del extensions[_CONNECTION]

    def connection_lost(self, exc: Exception | None) -> None:
        """The peer has gone, or was dropped."""
        self._stay.leave()
        self._unparsed.clear()
        super().connection_lost(exc)
        self.conn.parser.close()  # it leads back to its owner, as above

    def data_received(self, data: bytes) -> None:
        """Parse what came, as far as it can be taken now."""
        if self.close_sent:
            self._after_close_bytes += len(data)
            if self._after_close_bytes > _MOST_AFTER_CLOSE_BYTES:
                self._stay.drop("REQUEST_TOO_LONG")
                return
        self._unparsed += data
        self._parse()

    async def receive(self) -> ASGIReceiveEvent:
        """The app's next message; then those behind it are parsed."""
        message = await super().receive()
        self._parse()
        return message

    async def send(self, message: ASGISendEvent) -> None:
        """Send a frame; where the connection is being closed already, as after a frame that was too
        long, nobody is there any more, and the app has done nothing wrong.
        """
        if self.close_sent:
            raise ClientDisconnected
        await super().send(message)
        self._parse()

    def pause_writing(self) -> None:
        """The peer does not read: nor do we, and not for long."""
        super().pause_writing()
        self.transport.pause_reading()
        if not self._stay.is_strangers:
            self._stay.within(self._port.unread_ms, "UNREAD")

    def resume_writing(self) -> None:
        """The peer reads again."""
        super().resume_writing()
        if not self._stay.is_strangers:
            self._stay.rest()
        self._parse()

    def keepalive_timeout(self) -> None:
        """The peer answers no ping: it has a moment to read why it goes."""
        super().keepalive_timeout()
        self._stay.within(self._port.grace_ms, "UNREAD")

    def handle_ping(self) -> None:
        """Answer, while it is not asked too often."""
        if self._may_control():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """The answer to our ping, or one that nobody has asked for."""
        if bytes(event.data) == self.pending_ping_payload or self._may_control():
            super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        """A further fragment; their number in a message is limited."""
        if len(self.frames) >= _MOST_FRAGMENTS:
            why = f"a message has at most {_MOST_FRAGMENTS} fragments"
            self._refuse(CloseCode.POLICY_VIOLATION, why)
            return
        super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """Hand a message on; one that is no UTF-8 ends the connection, and is no error of ours."""
        if self.curr_msg_data_type == "text":
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self._refuse(CloseCode.INVALID_DATA, "a text frame is UTF-8")
                return
        super().send_receive_event_to_app()

    def _parse(self) -> None:
        """Parse while there is something to parse, somebody to take it, and a peer that reads."""
        while self._unparsed and (self.queue.empty() or self.close_sent):
            if self.transport.is_closing() or not self.writable.is_set():
                break
            piece = bytes(self._unparsed[:_PIECE_BYTES])
            del self._unparsed[:_PIECE_BYTES]
            super().data_received(piece)
        self._mind_reading()

    def _mind_reading(self) -> None:
        if self.transport.is_closing():
            return
        if self._unparsed or not self.writable.is_set():
            self.transport.pause_reading()
        elif not self.read_paused:
            self.transport.resume_reading()

    def _may_control(self) -> bool:
        if not self._port.control.take(self._number, ""):
            return True
        self._refuse(CloseCode.POLICY_VIOLATION, "pings and pongs come too fast")
        return False

    def _refuse(self, code: CloseCode, why: str) -> None:
        """Close with a code; what was parsed with it is left."""
        self.frames = []
        if self.close_sent:
            return
        DROPPED.labels("FRAMES").inc()
        self.conn.fail(code, why)
        self.handle_parser_exception()


def abort(scope: Scope) -> None:
    """Drop a WebSocket's connection at once, with whatever was not sent.

    An orderly close waits until everything is sent, which may be never.
    """
    scope["extensions"][_CONNECTION]["abort"]()


def admit(scope: Scope) -> None:
    """The connection is a known player's."""
    scope["extensions"][_CONNECTION]["admit"]()
