"""What uvicorn does not do for the gateway."""

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from services.gateway.web_server import Droppable


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Never called."""


async def test_a_frame_for_a_connection_that_is_being_closed_finds_nobody() -> None:
    """It is told as when the client has gone, not as a mistake of the app."""
    protocol = Droppable(uvicorn.Config(app, log_config=None), ServerState(), {})
    protocol.handshake_complete = True
    protocol.close_sent = True
    with pytest.raises(OSError, match=r"^$"):
        await protocol.send({"type": "websocket.send", "text": "late"})
