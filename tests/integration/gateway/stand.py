"""The whole platform in the test's own process, a gateway before it, and browsers as clients."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from pydantic import SecretStr
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.gateway.app import GatewayApp
from services.gateway.settings import GatewaySettings
from tests.security.stand import Everything

PATIENCE_S = 20.0

Frame = dict[str, Any]


class Browser:
    """One WebSocket; ``frames`` keeps every frame as it came."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.raw: list[str] = []
        self._numbers = itertools.count(1)

    async def say(self, **frame: Any) -> None:
        await self.socket.send(orjson.dumps(frame).decode())

    async def hear(self, key: str = "") -> Frame:
        """The next frame, or the next one with that key."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                text = await self.socket.recv()
                assert isinstance(text, str)
                self.raw.append(text)
                frame: Frame = orjson.loads(text)
                if not key or key in frame:
                    return frame

    async def close_code(self) -> int:
        """The code of the close that comes next."""
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(ConnectionClosed) as closed:
                await self.socket.recv()
        assert closed.value.rcvd is not None
        return closed.value.rcvd.code

    async def ask(self, **command: Any) -> Frame:
        """Send a command; the result that answers it, what else comes meanwhile is only kept."""
        request_id = f"request-{next(self._numbers)}"
        [(kind, said)] = command.items()
        await self.say(play={kind: {**said, "request_id": request_id}})
        while True:
            table = (await self.hear("table"))["table"]
            if table.get("result", {}).get("request_id") == request_id:
                result: Frame = table["result"]
                return result


class Stand(Everything):
    """The platform with a gateway."""

    def __init__(self, folder: Path, clock_factor: int, redis_url: SecretStr) -> None:
        super().__init__(folder, clock_factor, redis_url)
        self.gateway: ServiceServer | None = None

    async def start_gateway(self, **settings: Any) -> ServiceServer:
        """One more gateway; it ends with the others."""
        app = GatewayApp(self.gateway_settings(**settings))
        return await self._services.enter_async_context(ServiceServer(app))

    def gateway_settings(self, **settings: Any) -> GatewaySettings:
        return GatewaySettings(
            lobby_address=self._addresses["lobby"],
            engine_address=self.engine_address,
            wallet_address=self._addresses["wallet"],
            rating_address=self._addresses["rating"],
            **{
                **self._shared("gateway"),
                "service_token_dir": self.issuer.service_token_dir(self.folder, Role.GATEWAY),
                "gateway_guest_key_file": self.folder / "signing-key.json",
                **settings,
            },
        )


async def rpc(gateway: ServiceServer, token: str, path: str, **request: Any) -> Frame:
    """The answer to one call."""
    async with http(gateway) as client:
        headers = {"authorization": f"Bearer {token}"}
        answer = await client.post(f"rpc/{path}", json=request, headers=headers)
        assert answer.status_code == 200, answer.text
        found: Frame = answer.json()
        return found


def url_of(gateway: ServiceServer) -> str:
    """Where its page is."""
    assert isinstance(gateway.app, GatewayApp)
    return gateway.app.url


@asynccontextmanager
async def browser(
    gateway: ServiceServer,
    token: str = "",
    *,
    headers: Mapping[str, str] | None = None,
    **hello: Any,
) -> AsyncIterator[Browser]:
    """A connection; with a token it has said hello."""
    address = url_of(gateway).replace("http", "ws", 1) + "ws"
    quiet = logging.getLogger("tests.browser")
    quiet.setLevel(logging.WARNING)  # else the client itself logs every frame at debug level
    opening = connect(address, proxy=None, additional_headers=headers, logger=quiet)
    async with opening as socket:
        found = Browser(socket)
        if token:
            await found.say(hello={"token": token, **hello})
        yield found


@asynccontextmanager
async def stand(folder: Path, redis_url: SecretStr, clock_factor: int = 20) -> AsyncIterator[Stand]:
    running = Stand(folder, clock_factor, redis_url)
    try:
        await running.start()
        running.gateway = await running.start_gateway()
        yield running
    finally:
        await running.stop()


def http(gateway: ServiceServer) -> httpx.AsyncClient:
    """Requests as scripts make them."""
    # There is no TLS here; each client would load all authorities all the same.
    return httpx.AsyncClient(
        base_url=url_of(gateway), timeout=PATIENCE_S, trust_env=False, verify=False
    )
