"""What callers are to give their gRPC library is taken by it, and does what docs/api.md says."""

import json
from typing import Final

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey_runtime.allowlist import PUBLISHED
from tests.deploy.manifests import DEPLOY
from tests.deploy.test_envoy import Replica, replicas

__all__ = ["replicas"]

CONFIG: Final = (DEPLOY / "client" / "service-config.json").read_text("utf-8")


async def asked(replicas: tuple[Replica, Replica], times: int) -> list[str]:
    """Who answered, calling over both of them as the configuration says."""
    target = "ipv4:" + ",".join(each.address for each in replicas)
    options = [("grpc.service_config", CONFIG), ("grpc.enable_http_proxy", 0)]
    async with grpc.aio.insecure_channel(target, options=options) as channel:
        stub = engine_pb2_grpc.TableServiceStub(channel)
        request = engine_pb2.WhereAmIRequest()
        return [(await stub.WhereAmI(request, timeout=20)).table_id for _ in range(times)]


async def test_calls_go_to_every_replica(replicas: tuple[Replica, Replica]) -> None:
    await asked(replicas, 20)

    assert all(each.called for each in replicas)


async def test_who_refuses_is_passed_over(replicas: tuple[Replica, Replica]) -> None:
    leaving, staying = replicas
    leaving.refuses = True

    assert set(await asked(replicas, 10)) == {staying.address}
    assert leaving.called > 0


def test_every_published_service_is_named() -> None:
    [calls] = json.loads(CONFIG)["methodConfig"]

    assert {one["service"] for one in calls["name"]} == {each.service for each in PUBLISHED}
