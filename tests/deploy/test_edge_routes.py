"""What a real Envoy passes on: calls of published methods, uncompressed, and nothing else."""

import asyncio
import urllib.error
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import grpc
import pytest

from okey_runtime.allowlist import HOMES, PUBLISHED
from tests.deploy import grpc_web
from tests.deploy.backend import FLOOD, HANGS, REACHED, Backend
from tests.deploy.edge import RunningEdge, local_edge, running
from tests.security.rpcs import every_rpc
from tools.manifests.envoy import Edge

pytestmark = [pytest.mark.system, pytest.mark.timeout(60)]

PAGE: Final = "https://play.example.com"
LISTED: Final = sorted(each.path for each in PUBLISHED)
ACT: Final = "/okey.api.engine.v1.TableService/Act"
GET_ACCOUNT: Final = "/okey.api.wallet.v1.WalletService/GetAccount"
GRANT_CHIPS: Final = "/okey.api.wallet.v1.WalletService/GrantChips"
NOT_OURS: Final = (
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/okey.api.wallet.v1.WalletService/Invented",
    "/",
)
DISGUISED: Final = (
    GRANT_CHIPS.lower(),
    f"/{GRANT_CHIPS}",
    f"{GRANT_CHIPS}/",
    f"{GRANT_CHIPS}?x=1",
    f"{GET_ACCOUNT}/../GrantChips",
    f"{GET_ACCOUNT}/%2e%2e/GrantChips",
    f"{GET_ACCOUNT}%2f..%2fGrantChips",
    f"{GET_ACCOUNT}/..;/GrantChips",
    f"{GET_ACCOUNT}#/GrantChips",
    "/okey.api.wallet.v1.WalletService//GrantChips",
    "/okey.api.wallet.v1.WalletService/./GrantChips",
)


@asynccontextmanager
async def fronted(folder: Path, backend: Backend, **changes: object) -> AsyncIterator[RunningEdge]:
    """An edge of which every service is the stand-in."""
    edge: Edge = local_edge({home: [backend.address] for home in HOMES})
    async with running(replace(edge, **changes), folder) as found:  # type: ignore[arg-type]
        await found.sees(dict.fromkeys(HOMES, 1))
        yield found


@pytest.fixture(scope="module")
async def backend() -> AsyncIterator[Backend]:
    async with Backend().serving() as found:
        yield found


@pytest.fixture(scope="module")
async def edge(
    tmp_path_factory: pytest.TempPathFactory, backend: Backend
) -> AsyncIterator[RunningEdge]:
    folder = tmp_path_factory.mktemp("edge")
    async with fronted(folder, backend, origins=[PAGE]) as found:
        yield found


@pytest.fixture(autouse=True)
def nothing_reached(backend: Backend) -> None:
    backend.reached.clear()


async def called(
    edge: RunningEdge, path: str, metadata: Mapping[str, str] | None = None, body: bytes = b""
) -> tuple[grpc.StatusCode, str]:
    """How a call ends, and what is said of it."""
    async with grpc.aio.insecure_channel(edge.address) as channel:
        method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(path)
        try:
            await method(body, metadata=tuple((metadata or {}).items()), timeout=20)
        except grpc.aio.AioRpcError as error:
            return error.code(), str(error.details())
    raise AssertionError(f"{path} was answered")


async def test_each_published_method_reaches_its_service_and_nothing_else_does(
    edge: RunningEdge, backend: Backend
) -> None:
    """Every RPC of every service, health and reflection, by names that no proto has, too."""
    paths = sorted({each.path for each in every_rpc()} | set(NOT_OURS))
    never_end = {FLOOD, HANGS}
    codes = {path: (await called(edge, path))[0] for path in paths if path not in never_end}

    assert sorted(set(backend.reached)) == sorted(set(LISTED) - never_end)
    refused = {path for path, code in codes.items() if code is grpc.StatusCode.UNIMPLEMENTED}
    assert refused == set(paths) - set(LISTED)
    assert {codes[path] for path in codes if path in LISTED} == {REACHED}
    assert len(refused) > 40


@pytest.mark.parametrize("path", DISGUISED)
async def test_no_other_spelling_leads_to_an_unpublished_method(
    path: str, edge: RunningEdge, backend: Backend
) -> None:
    code, _ = await called(edge, path)

    assert code is not REACHED
    assert backend.reached == []


async def test_a_method_that_is_not_listed_cannot_be_reached(
    tmp_path: Path, backend: Backend
) -> None:
    """The same method as above, left out of the list."""
    rest = [each for each in PUBLISHED if each.path != GET_ACCOUNT]
    async with fronted(tmp_path, backend, published=rest) as edge:
        code, _ = await called(edge, GET_ACCOUNT)
        assert (await called(edge, ACT))[0] is REACHED

    assert code is grpc.StatusCode.UNIMPLEMENTED
    assert backend.reached == [ACT]


@pytest.mark.parametrize(
    "metadata",
    [
        {"grpc-encoding": "gzip"},
        {"grpc-encoding": "deflate"},
        {"grpc-encoding": "identity,gzip"},
        {"content-encoding": "gzip"},
        {"content-encoding": "br"},
    ],
    ids=str,
)
async def test_compressed_requests_are_not_passed_on(
    metadata: dict[str, str], edge: RunningEdge, backend: Backend
) -> None:
    """In the form of gRPC, and of gRPC-Web as plain HTTP."""
    as_grpc = await sent(edge, {"content-type": "application/grpc", **metadata})
    as_web = await sent(edge, {"content-type": "application/grpc-web+proto", **metadata})

    for answer in (as_grpc, as_web):
        assert answer.headers["grpc-status"] == str(grpc.StatusCode.UNIMPLEMENTED.value[0])
        assert "compressed requests are not accepted" in answer.headers["grpc-message"]
        assert answer.headers["grpc-accept-encoding"] == "identity"
    assert backend.reached == []


async def test_a_client_that_compresses_gets_unimplemented(
    edge: RunningEdge, backend: Backend
) -> None:
    gzip = grpc.Compression.Gzip
    async with grpc.aio.insecure_channel(edge.address, compression=gzip) as channel:
        method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(ACT)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await method(bytes(1_000), timeout=20)

    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert backend.reached == []


async def test_a_request_that_says_it_is_not_compressed_is_passed_on(
    edge: RunningEdge, backend: Backend
) -> None:
    plain = {"grpc-encoding": "identity", "content-encoding": "identity"}
    await sent(edge, {"content-type": "application/grpc-web+proto", **plain})

    assert backend.reached == [ACT]


async def sent(
    edge: RunningEdge, headers: Mapping[str, str], method: str = "POST", path: str = ACT
) -> grpc_web.HttpAnswer:
    """What Envoy answers to any request by HTTP/1.1."""
    return await asyncio.to_thread(grpc_web.request, edge.address, method, path, headers)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {"content-type": "application/grpc"}),
        ("PUT", {"content-type": "application/grpc-web+proto"}),
        ("POST", {"content-type": "application/json"}),
        ("POST", {"content-type": "application/grpc-web+proto", "x_forwarded_for": "192.0.2.1"}),
    ],
)
async def test_what_is_no_call_of_grpc_is_not_passed_on(
    method: str, headers: dict[str, str], edge: RunningEdge, backend: Backend
) -> None:
    answer = await sent(edge, headers, method)

    assert answer.status in (400, 404) or answer.headers["grpc-status"] == "12"
    assert backend.reached == []


async def test_a_path_with_an_escaped_slash_is_refused_before_it_is_looked_up(
    edge: RunningEdge, backend: Backend
) -> None:
    answer = await sent(edge, {"content-type": "application/grpc-web+proto"}, path=f"{ACT}%2Fx")

    assert answer.status == 400


async def test_what_a_caller_says_to_envoy_itself_is_not_believed(
    edge: RunningEdge, backend: Backend
) -> None:
    """Retries and time-outs are the edge's own, and so is where a call comes from."""
    claims = {
        "x-envoy-max-retries": "50",
        "x-envoy-retry-on": "5xx",
        "x-envoy-upstream-rq-timeout-ms": "1",
        "x-forwarded-for": "192.0.2.7",
    }
    await called(edge, ACT, claims)

    assert backend.reached == [ACT]
    assert not backend.metadata["x-forwarded-for"].endswith("192.0.2.7")
    assert not backend.metadata.keys() & {"x-envoy-max-retries", "x-envoy-retry-on"}


async def preflight(edge: RunningEdge, origin: str, path: str = ACT) -> Mapping[str, str]:
    return await asyncio.to_thread(
        grpc_web.preflight, edge.address, path, origin, "authorization,x-grpc-web"
    )


@pytest.mark.parametrize(
    "origin", ["https://evil.example", f"{PAGE}.evil.example", "http://play.example.com", "null"]
)
async def test_other_pages_may_not_call(origin: str, edge: RunningEdge, backend: Backend) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        await preflight(edge, origin)
    answer = await asyncio.to_thread(grpc_web.call, edge.address, ACT, b"", {"origin": origin})

    assert "access-control-allow-origin" not in refused.value.headers
    assert "access-control-allow-origin" not in answer.headers


async def test_a_configured_page_may_call(edge: RunningEdge, backend: Backend) -> None:
    """The edge itself answers the browser's question."""
    allowed = await preflight(edge, PAGE)
    assert backend.reached == []
    answer = await sent(edge, {"content-type": "application/grpc-web+proto", "origin": PAGE})

    assert allowed["access-control-allow-origin"] == PAGE
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert backend.reached == [ACT]


async def test_without_configured_origins_no_page_may_call(
    tmp_path: Path, backend: Backend
) -> None:
    async with fronted(tmp_path, backend) as edge:
        with pytest.raises(urllib.error.HTTPError) as refused:
            await preflight(edge, PAGE)
        answer = await asyncio.to_thread(grpc_web.call, edge.address, ACT, b"", {"origin": PAGE})

    assert "access-control-allow-origin" not in refused.value.headers
    assert "access-control-allow-origin" not in answer.headers
