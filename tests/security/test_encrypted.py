"""The whole platform over mutual TLS: services reach one another, and nobody else reaches them."""

from pathlib import Path
from typing import Any

import grpc
import pytest
from pydantic import SecretStr

from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey_client import OkeyClient
from okey_runtime.channel import open_channel
from okey_runtime.tls import CertificateFiles, ClientTls, Security
from tests.fixtures.certificates import Authority
from tests.fixtures.valkey import Valkey
from tests.security.stand import Everything


class Encrypted(Everything):
    """Every service shows a certificate for ``localhost`` and ``engine``, and asks for one."""

    def __init__(self, folder: Path, clock_factor: int, redis_url: SecretStr) -> None:
        super().__init__(folder, clock_factor, redis_url)
        self._authority = Authority(folder)

    def _shared(self, name: str) -> dict[str, Any]:
        names = ("engine",) if name == "engine" else ("localhost",)
        return {
            **super()._shared(name),
            **self._authority.issue(name, *names).settings(),
            "listen_host": "localhost",
            "tls_require_client_cert": True,
            "tls_engine_name": "engine",
        }

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
        """A gateway's certificate."""
        own = self._authority.issue("gateway", "gateway")
        return ClientTls(CertificateFiles(cert_file=own.cert, key_file=own.key, ca_file=own.ca))

    def nobody(self) -> ClientTls:
        """Who trusts the platform and has no certificate."""
        return ClientTls(CertificateFiles(ca_file=self._authority.ca))


async def test_people_sit_down_and_pay_over_mutual_tls(
    tmp_path: Path, valkey_server: Valkey
) -> None:
    """M1: gateway to lobby, lobby to engine, engine to wallet: each a connection of its own."""
    valkey_server.empty()
    world = Encrypted(tmp_path, 10, valkey_server.url)
    try:
        await world.start()
        terms = lobby_pb2.TableTerms(seat_count=2, stake=100)
        async with world.client("anna", world.gateway()) as anna:
            table_id = await anna.lobby.create_table(terms)
            view = await anna.table(table_id).get()
            assert view.seats[0].player == "anna"
            assert await anna.wallet.balance_of("anna") == 9_900
        token = world.issuer.metadata("bert")
        lobby = world.address("lobby")
        async with open_channel(lobby, token=token, security=world.nobody()) as channel:
            stub = lobby_pb2_grpc.LobbyServiceStub(channel)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.ListTables(lobby_pb2.ListTablesRequest(), timeout=2)
            assert refused.value.code() in (
                grpc.StatusCode.UNAVAILABLE,
                grpc.StatusCode.DEADLINE_EXCEEDED,
            )
    finally:
        await world.stop()
