import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from okey_runtime.channel import open_channel
from okey_runtime.config import Environment, Reflection, ServiceSettings
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import MetadataProvider, fixed_token
from okey_runtime.trust import JwksMissing
from tests.unit.runtime.caller import Caller
from tests.unit.runtime.conftest import Connect
from tests.unit.runtime.echo import SERVER_STREAM, SERVICE, UNARY, EchoApp, ask
from tests.unit.runtime.tokens import Issuer

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def health(address: str, name: str) -> int:
    async with open_channel(address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=5)
        return int(answer.status)


async def test_the_addresses_it_has_bound_are_written_once_it_is_ready(
    server: ServiceServer, settings: ServiceSettings
) -> None:
    assert settings.address_file is not None
    written = json.loads(settings.address_file.read_text())
    assert written == {"grpc": server.address, "metrics": server.metrics_address}
    assert await health(written["grpc"], "") == SERVING


async def test_an_address_to_advertise_stands_in_for_the_bound_one(
    settings: ServiceSettings, issuer: Issuer
) -> None:
    known_as = settings.model_copy(update={"advertise_address": "engine-0.engine:50051"})
    async with ServiceServer(EchoApp(known_as), issuer.clock) as server:
        assert server.address == "engine-0.engine:50051"


@pytest.mark.parametrize("name", ["", "readiness", "liveness", SERVICE])
async def test_health_is_open_to_everybody(server: ServiceServer, name: str) -> None:
    assert await health(server.address, name) == SERVING


async def test_readiness_follows_what_the_app_says(server: ServiceServer) -> None:
    await server.readiness.block("database")
    assert await health(server.address, SERVICE) == NOT_SERVING
    assert await health(server.address, "liveness") == SERVING


async def test_health_may_have_a_port_of_its_own(
    settings: ServiceSettings, issuer: Issuer, unused_port: int
) -> None:
    probed = settings.model_copy(update={"health_port": unused_port})
    async with ServiceServer(EchoApp(probed), issuer.clock):
        address = f"127.0.0.1:{unused_port}"
        assert await health(address, "readiness") == SERVING
        async with open_channel(address) as channel:
            failure = await Caller(channel).failure(UNARY, ask())
        assert failure.code is grpc.StatusCode.UNIMPLEMENTED


async def test_reflection_lists_the_services(server: ServiceServer) -> None:
    async with open_channel(server.address) as channel:
        connect: Any = reflection_pb2_grpc.ServerReflectionStub
        stub = connect(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        (answer,) = [a async for a in stub.ServerReflectionInfo(iter([request]), timeout=5)]
    names = {service.name for service in answer.list_services_response.service}
    assert {SERVICE, "grpc.health.v1.Health"} <= names


@pytest.mark.parametrize(
    ("environment", "policy", "without", "with_token"),
    [
        (Environment.TEST, None, None, None),
        (Environment.PRODUCTION, None, grpc.StatusCode.UNAUTHENTICATED, None),
        (Environment.PRODUCTION, Reflection.OPEN, None, None),
        (Environment.TEST, Reflection.OFF, *2 * [grpc.StatusCode.UNIMPLEMENTED]),
    ],
)
async def test_reflection_answers_whom_the_policy_names(
    settings: ServiceSettings,
    issuer: Issuer,
    environment: Environment,
    policy: Reflection | None,
    without: grpc.StatusCode | None,
    with_token: grpc.StatusCode | None,
) -> None:
    changed = settings.model_copy(update={"environment": environment, "reflection": policy})
    async with ServiceServer(EchoApp(changed), issuer.clock) as server:
        assert await reflected(server.address, None) is without
        assert await reflected(server.address, fixed_token(issuer.token())) is with_token


async def reflected(address: str, token: MetadataProvider | None) -> grpc.StatusCode | None:
    """How the question for the list of methods fails, None if it is answered."""
    async with open_channel(address, token=token) as channel:
        connect: Any = reflection_pb2_grpc.ServerReflectionStub
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        over = asyncio.Event()

        async def ask_once() -> AsyncIterator[Any]:
            yield request
            await over.wait()

        stream = connect(channel).ServerReflectionInfo(ask_once(), timeout=5)
        try:
            answer = await stream.read()
        except grpc.aio.AioRpcError as error:
            code: grpc.StatusCode = error.code()
            return code
        finally:
            over.set()
            stream.cancel()
        assert answer.list_services_response.service
        return None


async def test_two_services_do_not_share_a_port(
    server: ServiceServer, settings: ServiceSettings, issuer: Issuer
) -> None:
    port = int(server.address.rpartition(":")[2])
    second = EchoApp(settings.model_copy(update={"listen_port": port}))
    with pytest.raises(RuntimeError, match="bind"):
        await ServiceServer(second, issuer.clock).start()


async def test_without_a_jwks_file_nothing_starts(settings: ServiceSettings) -> None:
    with pytest.raises(JwksMissing, match="OKEY_JWKS_FILE"):
        ServiceServer(EchoApp(settings.model_copy(update={"jwks_file": None})))


async def test_a_stop_drains_first_and_closes_last(app: EchoApp, issuer: Issuer) -> None:
    async with ServiceServer(app, issuer.clock):
        assert app.log == ["started"]
    assert app.log == ["started", "drained", "closed"]


async def test_streams_that_end_in_the_drain_end_well(
    app: EchoApp, server: ServiceServer, connect: Connect
) -> None:
    watching = asyncio.create_task((await connect()).call(SERVER_STREAM, ask("wait")))
    await app.entered.wait()
    await server.stop()
    assert await watching == ["ayse", "last"]


async def test_health_says_not_serving_before_the_drain_begins(
    app: EchoApp, server: ServiceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    async def drain() -> None:
        seen.append(await health(server.address, ""))

    monkeypatch.setattr(app, "drain", drain)
    await server.stop()
    assert seen == [NOT_SERVING]


async def test_a_drain_that_hangs_is_cut_off(
    settings: ServiceSettings, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = EchoApp(settings.model_copy(update={"drain_timeout_ms": 50}))
    monkeypatch.setattr(app, "drain", asyncio.Event().wait)
    async with asyncio.timeout(5), ServiceServer(app, issuer.clock):
        pass
    assert app.log == ["started", "closed"]


async def test_a_drain_that_fails_holds_up_nothing_else(
    app: EchoApp, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def drain() -> None:
        raise ValueError("no way to hand over")

    monkeypatch.setattr(app, "drain", drain)
    with pytest.raises(ValueError, match="no way"):
        async with ServiceServer(app, issuer.clock) as server:
            address = server.address
    assert app.log == ["started", "closed"]
    with pytest.raises(grpc.aio.AioRpcError):
        await health(address, "")


async def test_a_second_stop_does_nothing(app: EchoApp, server: ServiceServer) -> None:
    await server.stop()
    await server.stop()
    assert app.log == ["started", "drained", "closed"]


async def test_background_work_is_cancelled_before_the_app_is_closed(
    app: EchoApp, server: ServiceServer
) -> None:
    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            app.log.append("work ended")

    server.spawn(work(), "work")
    await asyncio.sleep(0)
    await server.stop()
    assert app.log == ["started", "drained", "work ended", "closed"]


async def test_background_work_that_fails_ends_the_service(server: ServiceServer) -> None:
    async def work() -> None:
        raise ValueError("broken")

    server.spawn(work(), "work")
    with pytest.raises(ValueError, match="broken"):
        await asyncio.wait_for(server.wait(), timeout=5)


async def test_background_work_may_come_to_its_end(server: ServiceServer) -> None:
    async def work() -> None:
        return

    await server.spawn(work(), "work")
    server.end()
    await asyncio.wait_for(server.wait(), timeout=5)


async def test_an_app_that_does_not_start_is_closed(
    app: EchoApp, issuer: Issuer, monkeypatch: pytest.MonkeyPatch, settings: ServiceSettings
) -> None:
    async def start(host: ServiceServer) -> None:
        raise ValueError("no store")

    monkeypatch.setattr(app, "start", start)
    with pytest.raises(ValueError, match="no store"):
        async with ServiceServer(app, issuer.clock):
            pass
    assert app.log == ["closed"]
    assert settings.address_file is not None
    assert not settings.address_file.exists()


async def test_grpc_takes_no_larger_message_than_the_largest_of_the_services_methods(
    connect: Connect,
) -> None:
    """So what is far too large is not even gathered."""
    failure = await (await connect()).failure(UNARY, ask("x" * 5_000))
    assert (failure.code, failure.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "")


async def test_a_crowd_that_calls_at_the_same_moment_is_answered(
    connect: Connect, issuer: Issuer
) -> None:
    crowd = [await connect(issuer.token(f"player-{number}")) for number in range(10)]
    calls = [caller.call(UNARY, ask()) for caller in crowd for _ in range(150)]
    assert len(await asyncio.gather(*calls)) == 1_500
