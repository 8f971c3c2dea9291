"""Envoy with the configuration that is deployed carries gRPC and gRPC-Web to real services."""

import asyncio
import re
import ssl
import urllib.error
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

import grpc
import pytest
from grpc_health.v1 import health_pb2_grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_client.channels import ENGINE_HEADER, Channels
from okey_runtime.readiness import Readiness
from okey_runtime.served import Context
from okey_runtime.server import ServiceServer
from tests.deploy import grpc_web
from tests.deploy.edge import RunningEdge, lay_out_certificates, local_edge, running
from tests.deploy.test_rules import OF_ENVOY
from tests.fixtures.apps import app_of
from tests.fixtures.certificates import Authority
from tests.fixtures.issuer import Issuer
from tests.fixtures.valkey import free_port

pytestmark = [pytest.mark.system, pytest.mark.timeout(60)]

TABLE_SERVICE: Final = "okey.api.engine.v1.TableService"
GET_ACCOUNT: Final = "/okey.api.wallet.v1.WalletService/GetAccount"
PAGE: Final = "https://play.example.com"
WHERE: Final = engine_pb2.WhereAmIRequest()


@dataclass(frozen=True)
class Wallet:
    """A real wallet, and a player's token for it."""

    address: str
    token: str


@pytest.fixture
async def wallet(tmp_path: Path) -> AsyncIterator[Wallet]:
    issuer, url = Issuer(tmp_path), f"sqlite:///{tmp_path}/wallet.db"
    app = app_of("wallet", issuer, tmp_path, url, welcome_chips=1_234)
    async with ServiceServer(app) as server:
        yield Wallet(server.address, issuer.token("ayse"))


class Replica:
    """An engine's stand-in: it tells where it is, and may refuse."""

    def __init__(self) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self.readiness = Readiness(())
        self.refuses = False
        self.called = 0

    async def where_am_i(self, _: object, context: Context) -> engine_pb2.WhereAmIResponse:
        self.called += 1
        if self.refuses:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "leaving")
        return engine_pb2.WhereAmIResponse(table_id=self.address)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Replica"]:
        """While the block lasts."""
        server = grpc.aio.server()
        answer = grpc.unary_unary_rpc_method_handler(
            self.where_am_i,
            request_deserializer=engine_pb2.WhereAmIRequest.FromString,
            response_serializer=engine_pb2.WhereAmIResponse.SerializeToString,
        )
        methods = {"WhereAmI": answer}
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(TABLE_SERVICE, methods),)
        )
        health_pb2_grpc.add_HealthServicer_to_server(self.readiness.servicer, server)
        server.add_insecure_port(self.address)
        await server.start()
        await self.readiness.started()
        try:
            yield self
        finally:
            await server.stop(None)


@pytest.fixture
async def replicas() -> AsyncIterator[tuple[Replica, Replica]]:
    async with Replica().serving() as one, Replica().serving() as two:
        yield one, two


@pytest.fixture
async def edge(tmp_path: Path, replicas: tuple[Replica, Replica]) -> AsyncIterator[RunningEdge]:
    """Before two replicas of the engine, both known to be ready."""
    configured = local_edge({"engine": [each.address for each in replicas]})
    async with running(configured, tmp_path) as found:
        await found.sees({"engine": 2})
        yield found


async def where(edge: RunningEdge, engine: str = "") -> str:
    metadata = ((ENGINE_HEADER, engine),) if engine else ()
    async with grpc.aio.insecure_channel(edge.address) as channel:
        stub = engine_pb2_grpc.TableServiceStub(channel)
        return str((await stub.WhereAmI(WHERE, metadata=metadata, timeout=5)).table_id)


async def test_a_browser_calls_a_real_wallet_by_grpc_web(wallet: Wallet, tmp_path: Path) -> None:
    request = wallet_pb2.GetAccountRequest(account="player:ayse")
    bearer = {"authorization": f"Bearer {wallet.token}"}

    configured = local_edge({"wallet": [wallet.address]}, origins=[PAGE])
    async with running(configured, tmp_path) as edge:
        await edge.sees({"wallet": 1})
        answer = await asyncio.to_thread(
            grpc_web.call, edge.address, GET_ACCOUNT, request.SerializeToString(), bearer
        )
        refused = await asyncio.to_thread(grpc_web.call, edge.address, GET_ACCOUNT, b"", bearer)
        allowed = await asyncio.to_thread(
            grpc_web.preflight, edge.address, GET_ACCOUNT, PAGE, "authorization,x-grpc-web"
        )

    [message] = answer.messages
    assert wallet_pb2.GetAccountResponse.FromString(message).balance == 1_234
    assert answer.trailers["grpc-status"] == "0"
    assert answer.headers["content-type"].startswith("application/grpc-web")
    assert refused.trailers["grpc-status"] == str(grpc.StatusCode.INVALID_ARGUMENT.value[0])
    assert allowed["access-control-allow-origin"] == PAGE
    assert "authorization" in allowed["access-control-allow-headers"]


async def test_grpc_itself_is_carried_with_its_errors(wallet: Wallet, tmp_path: Path) -> None:
    async with running(local_edge({"wallet": [wallet.address]}), tmp_path) as edge:
        await edge.sees({"wallet": 1})
        async with grpc.aio.insecure_channel(edge.address) as channel:
            stub = wallet_pb2_grpc.WalletServiceStub(channel)
            request = wallet_pb2.GetAccountRequest(account="player:ayse")
            with pytest.raises(grpc.aio.AioRpcError) as nobody:
                await stub.GetAccount(request, timeout=5)

    assert nobody.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert "TOKEN_MISSING" in str(nobody.value.trailing_metadata())


async def test_both_sides_speak_tls_where_there_are_certificates(tmp_path: Path) -> None:
    """The wallet takes nobody without a certificate of the platform's authority."""
    authority, issuer = Authority(tmp_path), Issuer(tmp_path)
    files = authority.issue("wallet", "wallet").settings()
    url = f"sqlite:///{tmp_path}/wallet.db"
    app = app_of("wallet", issuer, tmp_path, url, tls_require_client_cert=True, **files)
    lay_out_certificates(tmp_path, authority.issue("edge", "localhost"))
    trusted = grpc.ssl_channel_credentials(authority.ca.read_bytes())

    async with ServiceServer(app) as server:
        configured = local_edge({"wallet": [server.address]}, str(tmp_path))
        async with running(configured, tmp_path) as edge:
            await edge.sees({"wallet": 1})
            at = edge.address.replace("127.0.0.1", "localhost")
            async with grpc.aio.secure_channel(at, trusted) as channel:
                stub = wallet_pb2_grpc.WalletServiceStub(channel)
                account = await stub.GetAccount(
                    wallet_pb2.GetAccountRequest(account="player:ayse"),
                    metadata=issuer.metadata("ayse")(),
                    timeout=5,
                )

    assert account.account == "player:ayse"


async def test_bad_tokens_of_one_caller_lock_no_other_out(tmp_path: Path) -> None:
    """All of them come from Envoy's address; the wallet counts them by those that Envoy tells."""
    authority, issuer = Authority(tmp_path), Issuer(tmp_path)
    settings = {
        "tls_require_client_cert": True,
        "tls_edge_name": "edge",
        "bad_tokens_per_s": 1,
        "bad_tokens_burst": 2,
        **authority.issue("wallet", "wallet").settings(),
    }
    app = app_of("wallet", issuer, tmp_path, f"sqlite:///{tmp_path}/wallet.db", **settings)
    lay_out_certificates(tmp_path, authority.issue("edge", "localhost", "edge"))
    trusted, numbers = ssl.create_default_context(cafile=str(authority.ca)), count(1)

    async with ServiceServer(app) as server:
        configured = local_edge({"wallet": [server.address]}, str(tmp_path))
        async with running(configured, tmp_path) as edge:
            await edge.sees({"wallet": 1})
            at = edge.address.replace("127.0.0.1", "localhost")

            async def told(host: str, token: str) -> str:
                """What the wallet says to who claims to be somebody else each time."""
                claimed = {"x-forwarded-for": f"192.0.2.{next(numbers)}"}
                bearer = {"authorization": f"Bearer {token}"}
                answer = await asyncio.to_thread(
                    grpc_web.call_from, host, at, GET_ACCOUNT, claimed | bearer, trusted
                )
                return answer.trailers["grpc-message"]

            shown = [await told("127.0.0.2", "bad") for _ in range(3)]
            neighbour = await told("127.0.0.3", issuer.token("fatma"))

    assert ["more than 1 bad tokens" in each for each in shown] == [False, False, True]
    assert "account" in neighbour


async def test_a_call_for_an_engine_goes_to_that_one(
    edge: RunningEdge, replicas: tuple[Replica, Replica]
) -> None:
    for replica in replicas:
        found = {await where(edge, replica.address) for _ in range(5)}

        assert found == {replica.address}


async def test_our_client_follows_a_redirect_through_envoy(
    edge: RunningEdge, replicas: tuple[Replica, Replica]
) -> None:
    """Engines' own addresses are not dialled; Envoy is told of them."""
    channels = Channels(lambda: "token", edge=edge.address)
    found = {}
    for address in (edge.address, *(each.address for each in replicas)):
        stub = engine_pb2_grpc.TableServiceStub(channels.to(address))
        found[address] = {(await stub.WhereAmI(WHERE, timeout=5)).table_id for _ in range(5)}
    await channels.close()

    assert found.pop(edge.address) <= found.keys()
    assert found == {each.address: {each.address} for each in replicas}


async def test_a_caller_can_lead_envoy_nowhere_else(
    edge: RunningEdge, replicas: tuple[Replica, Replica]
) -> None:
    async with Replica().serving() as strange:
        found = {await where(edge, strange.address) for _ in range(3)}

    assert found <= {each.address for each in replicas}
    assert strange.called == 0


async def test_who_refuses_is_passed_over(
    edge: RunningEdge, replicas: tuple[Replica, Replica]
) -> None:
    leaving, staying = replicas
    leaving.refuses = True

    assert {await where(edge) for _ in range(10)} == {staying.address}
    assert leaving.called > 0


async def test_who_is_not_ready_gets_no_calls(
    edge: RunningEdge, replicas: tuple[Replica, Replica]
) -> None:
    leaving, staying = replicas
    await leaving.readiness.stopping()
    await edge.sees({"engine": 1})

    # It still answers, so only Envoy can keep calls from it, as soon as all its threads know.
    async with asyncio.timeout(20):
        while {await where(edge) for _ in range(10)} != {staying.address}:
            pass


async def test_what_alerts_look_at_is_on_its_page(
    edge: RunningEdge, replicas: tuple[Replica, Replica]
) -> None:
    for replica in replicas:
        replica.refuses = True
    with pytest.raises(grpc.aio.AioRpcError, match="leaving"):
        await where(edge)
    with pytest.raises(urllib.error.HTTPError, match="503"):
        await asyncio.to_thread(grpc_web.call, edge.address, GET_ACCOUNT, b"", {})

    _, page = await edge.telemetry("/metrics")
    assert set(re.findall(r"^# TYPE (\S+)", page, re.MULTILINE)) >= OF_ENVOY
    for counted in (
        'envoy_cluster_upstream_rq_retry_limit_exceeded{envoy_cluster_name="engine"} 1',
        'envoy_cluster_upstream_rq_xx{envoy_response_code_class="5",envoy_cluster_name="wallet"} 1',
        'envoy_cluster_membership_healthy{envoy_cluster_name="wallet"} 0',
    ):
        assert counted in page


async def test_the_certificate_that_ends_first_is_told(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    lay_out_certificates(tmp_path, authority.issue("edge", "localhost", days=6))

    async with running(local_edge({}, str(tmp_path)), tmp_path) as edge, asyncio.timeout(20):
        # Envoy counts anew every five seconds, and may not have since it read the certificate.
        while True:
            _, page = await edge.telemetry("/metrics")
            if "envoy_server_days_until_first_cert_expiring{} 5" in page:
                break


async def test_telemetry_shows_nothing_else_of_the_administration(edge: RunningEdge) -> None:
    status, metrics = await edge.telemetry("/metrics")

    assert (status, "envoy_cluster_upstream_rq_total" in metrics) == (200, True)
    for path in ("/config_dump", "/quitquitquit", "/"):
        assert (await edge.telemetry(path))[0] == 404
