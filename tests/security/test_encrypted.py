"""The whole platform over mutual TLS: services reach one another, and nobody else reaches them."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from pydantic import SecretStr

from okey.api.common.v1 import status_pb2, status_pb2_grpc
from okey.api.engine.v1 import engine_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey_client import OkeyClient
from okey_runtime.channel import open_channel
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import MetadataProvider
from okey_runtime.tls import CertificateFiles, ClientTls, Security
from services.wallet.app import WalletApp, WalletSettings
from tests.fixtures.certificates import Authority
from tests.fixtures.valkey import Valkey
from tests.integration.engine.platform import act, playing, view_of
from tests.integration.engine.play_stream import stream_of
from tests.security.stand import Everything, balanced

SERVICES = ("lobby", "engine", "wallet", "rating", "bots")
NAMED = (*SERVICES, "gateway", "operator")
"""Whose certificates have a role, their own."""
TERMS = lobby_pb2.TableTerms(seat_count=2, stake=100)


class Encrypted(Everything):
    """Every service shows a certificate for ``localhost`` or ``engine``, and asks for one."""

    def __init__(self, folder: Path, clock_factor: int, redis_url: SecretStr) -> None:
        super().__init__(folder, clock_factor, redis_url)
        self._authority = Authority(folder)

    def _shared(self, name: str) -> dict[str, Any]:
        self._issue(name)
        files = self._authority.files(name)
        return {
            **super()._shared(name),
            **files.settings(),
            "listen_host": "localhost",
            "tls_require_client_cert": True,
            "tls_engine_name": "engine",
            "tls_roles": ",".join(f"{each}.okey={each}" for each in NAMED),
        }

    def _issue(self, name: str) -> None:
        self._authority.issue(name, "engine" if name == "engine" else "localhost", f"{name}.okey")

    async def channel(
        self, subject: str, *roles: Role, to: str = "", at: str = ""
    ) -> grpc.aio.Channel:
        """With the certificate of the first role, where that is a service's or an operator's."""
        token = self.issuer.metadata(subject, *roles, to=to or "engine")
        own = roles[0] if roles and roles[0] in NAMED else "gateway"
        return await self.channel_with(token, to=to, at=at, own=own)

    async def channel_with(
        self, token: MetadataProvider, *, to: str = "", at: str = "", own: str = "gateway"
    ) -> grpc.aio.Channel:
        security = self.security(own) if to else self.security(own).named("engine")
        address = at or self.address(to or "engine")
        channel = open_channel(address, token=token, security=security)
        return await self._channels.enter_async_context(channel)

    def client(self, player: str, security: Security) -> OkeyClient:
        token = self.issuer.token(player)
        return OkeyClient(
            token_provider=lambda: token,
            lobby_address=self.address("lobby"),
            engine_address=self.engine_address,
            wallet_address=self.address("wallet"),
            security=security,
            engine_tls_name="engine",
        )

    def gateway(self) -> ClientTls:
        """A gateway's certificate, which is renewed with all others."""
        return self.security("gateway")

    def security(self, name: str) -> ClientTls:
        """The certificate of a service, an operator or a gateway."""
        own = self._authority.files(name)
        if not own.cert.exists():
            self._issue(name)
        return ClientTls(CertificateFiles(cert_file=own.cert, key_file=own.key, ca_file=own.ca))

    def strangers(self) -> Sequence[ClientTls]:
        """Who trusts the platform and has no certificate, or one that another has signed."""
        other = Authority(self.folder, "stranger").issue("stranger", "localhost", "engine")
        theirs = CertificateFiles(
            cert_file=other.cert, key_file=other.key, ca_file=self._authority.ca
        )
        return ClientTls(CertificateFiles(ca_file=self._authority.ca)), ClientTls(theirs)

    def trust_next(self) -> None:
        """From now on a second authority is trusted beside the one that has signed all."""
        self._next = Authority(self.folder, "next")
        self._authority.trust_also(self._next)

    def sign_with_next(self) -> None:
        """It signs every certificate anew."""
        self._next.ca = self._authority.ca
        self._authority = self._next
        for name in NAMED:
            self._issue(name)

    def trust_next_only(self) -> None:
        """The first authority is trusted no more."""
        self._next.trust_nobody_else()

    async def issuer_of(self, service: str) -> str:
        """Who has signed what the service shows to a connection that is made now."""
        own = self._authority.files("gateway")
        context = ssl.create_default_context(cafile=own.ca)
        context.load_cert_chain(own.cert, own.key)
        context.set_alpn_protocols(["h2"])
        host, _, port = self.address(service).rpartition(":")
        name = "engine" if service == "engine" else "localhost"
        _, writer = await asyncio.open_connection(
            host, int(port), ssl=context, server_hostname=name
        )
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return x509.load_der_x509_certificate(shown).issuer.rfc4514_string()


@asynccontextmanager
async def encrypted(folder: Path, valkey: Valkey) -> AsyncIterator[Encrypted]:
    """A platform whose services speak over mutual TLS only."""
    valkey.empty()
    running = Encrypted(folder, 10, valkey.url)
    try:
        await running.start()
        yield running
    finally:
        await running.stop()


@pytest.fixture
async def world(tmp_path: Path, valkey_server: Valkey) -> AsyncIterator[Encrypted]:
    async with encrypted(tmp_path, valkey_server) as running:
        yield running


async def sits_down(world: Encrypted, player: str) -> None:
    """M1: gateway to lobby, lobby to engine, engine to wallet: each a connection of its own."""
    async with world.client(player, world.gateway()) as client:
        table_id = await client.lobby.create_table(TERMS)
        view = await client.table(table_id).get()
        assert view.seats[0].player == player
        assert await client.wallet.balance_of(player) == 9_900


async def found(channel: grpc.aio.Channel) -> dict[str, status_pb2.StatusCheck]:
    """What a process finds where it calls others, by their names."""
    stub = status_pb2_grpc.StatusServiceStub(channel)
    status = await stub.GetStatus(status_pb2.GetStatusRequest(with_checks=True), timeout=10)
    return {check.name: check for check in status.checks if check.name in SERVICES}


async def test_people_sit_down_and_pay_over_mutual_tls(world: Encrypted) -> None:
    await sits_down(world, "anna")


async def test_every_pair_of_services_speaks_mutual_tls(world: Encrypted) -> None:
    """Whoever calls another finds it, with its own certificate and token."""
    auditing = WalletSettings(
        **{**world._shared("wallet"), "database_url": f"sqlite:///{world.folder}/second-wallet.db"},
    )
    second = await world.start_beside("second")
    async with AsyncExitStack() as stack:
        wallet = await stack.enter_async_context(ServiceServer(WalletApp(auditing)))
        channels = {
            "lobby": await world.channel("op", Role.OPERATOR, to="lobby"),
            "engine": await world.channel("op", Role.OPERATOR),
            "wallet": await stack.enter_async_context(
                open_channel(
                    wallet.address,
                    token=world.issuer.metadata("op", Role.OPERATOR, to="wallet"),
                    security=world.security("operator"),
                )
            ),
        }
        looked_at = {name: await found(channel) for name, channel in channels.items()}
    assert {name: set(checks) for name, checks in looked_at.items()} == {
        "lobby": {"engine", "wallet", "rating"},
        "engine": {"wallet", "rating", "bots"},
        "wallet": {"engine"},
    }
    wrong = [
        (name, check.name, check.text)
        for name, checks in looked_at.items()
        for check in checks.values()
        if check.state != status_pb2.CHECK_STATE_OK
    ]
    assert wrong == []
    await balanced(world)
    tables = {await world.open_table(f"host-{number}") for number in range(4)}
    listed = await (await world.operator(second.address)).ListTables(engine_pb2.ListTablesRequest())
    assert {table.table_id for table in listed.tables} == tables


@pytest.mark.parametrize("service", SERVICES)
async def test_no_service_takes_a_connection_without_a_certificate_of_the_authority(
    world: Encrypted, service: str
) -> None:
    """Whatever token there is in it."""
    token = world.issuer.metadata("op", Role.OPERATOR, to=service)
    address = world.address(service)
    for security in world.strangers():
        named = security.named("engine" if service == "engine" else "")
        async with open_channel(address, token=token, security=named) as channel:
            stub = status_pb2_grpc.StatusServiceStub(channel)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.GetStatus(status_pb2.GetStatusRequest(), timeout=2)
        assert refused.value.code() in (
            grpc.StatusCode.UNAVAILABLE,
            grpc.StatusCode.DEADLINE_EXCEEDED,
        )


async def test_certificates_and_their_authority_are_renewed_under_running_services(
    world: Encrypted,
) -> None:
    """Trust both, sign anew, trust the new one alone: nothing is restarted, and a stream that is
    open goes on.
    """
    await sits_down(world, "before")
    table_id, mover, _ = await playing(world)
    async with stream_of(world, mover, table_id) as stream:
        await stream.attach()
        await stream.read()
        assert {await world.issuer_of(each) for each in SERVICES} == {"CN=authority"}
        for step in (world.trust_next, world.sign_with_next, world.trust_next_only):
            step()
            await sits_down(world, f"after-{step.__name__.replace('_', '-')}")
        assert {await world.issuer_of(each) for each in SERVICES} == {"CN=next"}
        view = await view_of(world, table_id, mover)
        await stream.say(engine_pb2.PlayRequest(act=act(world, view)))
        (result,) = await stream.until_answered(1)
        assert result.seq > view.seq
