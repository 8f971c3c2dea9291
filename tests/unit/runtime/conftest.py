"""A running echo service, an issuer it trusts, and a way to call it as somebody."""

import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import structlog

from okey_runtime.channel import open_channel
from okey_runtime.config import Environment, ServiceSettings
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import fixed_token
from tests.unit.runtime.caller import Caller
from tests.unit.runtime.echo import EchoApp
from tests.unit.runtime.tokens import ISSUER, Issuer

Connect = Callable[..., Awaitable[Caller]]


@pytest.fixture
def issuer(tmp_path: Path) -> Issuer:
    return Issuer.at(tmp_path)


@pytest.fixture
def settings(issuer: Issuer, tmp_path: Path) -> ServiceSettings:
    return ServiceSettings(
        environment=Environment.TEST,
        jwks_file=issuer.jwks,
        token_issuer=ISSUER,
        address_file=tmp_path / "address.json",
        stop_grace_ms=200,
    )


@pytest.fixture
def app(settings: ServiceSettings) -> EchoApp:
    return EchoApp(settings)


@pytest.fixture
async def server(app: EchoApp, issuer: Issuer) -> AsyncIterator[ServiceServer]:
    async with ServiceServer(app, issuer.clock) as server:
        yield server


@pytest.fixture
async def connect(server: ServiceServer, issuer: Issuer) -> AsyncIterator[Connect]:
    """Calls the running service with a token (by default a player's); ``None`` sends none."""
    async with AsyncExitStack() as open_channels:

        async def as_somebody(token: str | None = "") -> Caller:
            chosen = issuer.token("ayse") if token == "" else token
            provider = None if chosen is None else fixed_token(chosen)
            channel = open_channel(server.address, token=provider)
            await open_channels.enter_async_context(channel)
            return Caller(channel)

        yield as_somebody


@pytest.fixture
def unused_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def fresh_logging() -> Iterator[None]:
    """Logging as it was, after a test that sets it up."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    yield
    root.handlers[:], level = before
    root.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
