"""The gateway between browsers and services that let nobody in without a certificate."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from websockets.asyncio.client import connect

from okey_runtime.server import ServiceServer
from services.gateway.app import GatewayApp
from services.gateway.settings import GatewaySettings
from tests.fixtures.valkey import Valkey
from tests.integration.gateway.stand import Browser, url_of
from tests.security.test_encrypted import Encrypted, encrypted


@pytest.fixture
async def world(tmp_path: Path, valkey_server: Valkey) -> AsyncIterator[Encrypted]:
    async with encrypted(tmp_path, valkey_server) as running:
        yield running


@pytest.fixture
async def gateway(world: Encrypted) -> AsyncIterator[ServiceServer]:
    settings = GatewaySettings(
        lobby_address=world.address("lobby"),
        engine_address=world.engine_address,
        wallet_address=world.address("wallet"),
        rating_address=world.address("rating"),
        **world._shared("gateway"),
    )
    async with ServiceServer(GatewayApp(settings)) as running:
        yield running


class Caller:
    """Whoever comes to the browsers' port with the platform's authority and no certificate."""

    def __init__(self, world: Encrypted, gateway: ServiceServer, player: str) -> None:
        self._token = world.issuer.token(player)
        self._tls = ssl.create_default_context(cafile=world._authority.ca)
        # The name in the certificate.
        self._url = url_of(gateway).replace("127.0.0.1", "localhost")

    async def ask(self, path: str) -> httpx.Response:
        """A call without a body's fields."""
        async with httpx.AsyncClient(base_url=self._url, verify=self._tls, trust_env=False) as http:
            headers = {"authorization": f"Bearer {self._token}"}
            return await http.post(f"rpc/{path}", json={}, headers=headers)

    @asynccontextmanager
    async def socket(self) -> AsyncIterator[Browser]:
        """A WebSocket that was greeted."""
        address = self._url.replace("http", "ws", 1) + "ws"
        async with connect(address, ssl=self._tls, proxy=None) as socket:
            browser = Browser(socket)
            await browser.say(hello={"token": self._token})
            await browser.hear("welcome")
            yield browser

    async def shown(self) -> str:
        """Who has signed the certificate that a new connection is shown."""
        async with httpx.AsyncClient(base_url=self._url, verify=self._tls, trust_env=False) as http:
            answer = await http.get("health")
        tls = answer.extensions["network_stream"].get_extra_info("ssl_object")
        certificate = tls.getpeercert(binary_form=True)
        return x509.load_der_x509_certificate(certificate).issuer.rfc4514_string()


async def leave(browser: Browser, table_id: str) -> None:
    """A command of the open table, which counts."""
    await browser.say(play={"leave_seat": {"table_id": table_id, "request_id": "anna-leaves"}})
    result = None
    while result is None:
        result = (await browser.hear("table"))["table"].get("result")
    assert result["request_id"] == "anna-leaves"
    assert "error" not in result


async def test_browsers_play_through_it_over_mutual_tls(
    world: Encrypted, gateway: ServiceServer
) -> None:
    """Each service is reached: lobby, engine at its address, wallet and rating."""
    caller = Caller(world, gateway, "anna")
    table_id = await world.open_table("anna")
    found = await caller.ask("TableService/WhereAmI")
    assert (found.status_code, found.json()["table_id"]) == (200, table_id)
    for path in ("LobbyService/ListTables", "RatingService/ListSeasons"):
        assert (await caller.ask(path)).status_code == 200, path
    async with caller.socket() as browser:
        await browser.say(play={"attach": {"table_id": table_id, "with_view": True}})
        assert (await browser.hear("table"))["table"]["snapshot"]["viewer"] == 0
        await leave(browser, table_id)


async def test_its_certificate_is_renewed_under_open_connections(
    world: Encrypted, gateway: ServiceServer
) -> None:
    """On both sides: browsers are shown the new one, and services are shown it too."""
    caller = Caller(world, gateway, "anna")
    table_id = await world.open_table("anna")
    async with caller.socket() as browser:
        await browser.say(play={"attach": {"table_id": table_id, "with_view": True}})
        await browser.hear("table")
        assert await caller.shown() == "CN=authority"
        world.trust_next()
        world.sign_with_next()
        world.trust_next_only()
        later = Caller(world, gateway, "anna")
        assert await later.shown() == "CN=next"
        assert (await later.ask("LobbyService/ListTables")).status_code == 200
        await leave(browser, table_id)


async def test_a_renewal_that_cannot_be_used_leaves_the_old_certificate(
    world: Encrypted, gateway: ServiceServer
) -> None:
    files = world._authority.files("gateway")
    files.cert.write_text("half a certificate")
    assert await Caller(world, gateway, "anna").shown() == "CN=authority"
