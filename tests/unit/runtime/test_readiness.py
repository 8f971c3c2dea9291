import asyncio
from typing import Any

import grpc
import pytest
from grpc.aio import AbortError
from grpc_health.v1 import health_pb2

from okey_runtime.readiness import LIVENESS, READINESS, Readiness

READY_NAMES = ["", READINESS, "okey.test.EchoService"]


async def serving(readiness: Readiness, name: str) -> bool:
    servicer: Any = readiness.servicer
    answer = await servicer.Check(health_pb2.HealthCheckRequest(service=name), None)
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


@pytest.fixture
async def readiness() -> Readiness:
    readiness = Readiness(["okey.test.EchoService"])
    await readiness.announce()
    return readiness


@pytest.mark.parametrize("name", READY_NAMES)
async def test_a_service_is_ready_from_its_start_to_its_stop(
    readiness: Readiness, name: str
) -> None:
    assert not await serving(readiness, name)
    await readiness.started()
    assert await serving(readiness, name)
    await readiness.stopping()
    assert not await serving(readiness, name)


@pytest.mark.parametrize("name", READY_NAMES)
async def test_a_service_is_ready_again_when_the_last_reason_is_gone(
    readiness: Readiness, name: str
) -> None:
    await readiness.started()
    await readiness.block("database")
    await readiness.block("lease")
    await readiness.unblock("database")
    assert not await serving(readiness, name)
    assert readiness.reasons == {"lease"}
    await readiness.unblock("lease")
    assert await serving(readiness, name)


async def test_a_service_that_is_not_ready_is_alive_all_the_same(readiness: Readiness) -> None:
    assert await serving(readiness, LIVENESS)
    await readiness.stopping()
    assert await serving(readiness, LIVENESS)


class Watcher:
    """A call of ``Watch``; one that does not read never takes what is written."""

    def __init__(self, readiness: Readiness, name: str = "", *, reads: bool = True) -> None:
        self.told: asyncio.Queue[str] = asyncio.Queue()
        self.writes = asyncio.Event()
        self.ended: list[grpc.StatusCode] = []
        self._reads = reads
        servicer: Any = readiness.servicer
        request = health_pb2.HealthCheckRequest(service=name)
        self.call = asyncio.create_task(servicer.Watch(request, self))

    async def write(self, answer: health_pb2.HealthCheckResponse) -> None:
        self.writes.set()
        if not self._reads:
            await asyncio.Event().wait()
        self.told.put_nowait(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))

    def done(self) -> bool:
        return False

    async def abort(self, code: grpc.StatusCode, *_: object) -> None:
        self.ended.append(code)
        raise AbortError

    async def send_initial_metadata(self, _: object) -> None:
        raise AssertionError("aborted already")


async def test_a_watcher_that_does_not_read_holds_up_no_change_and_no_other_watcher(
    readiness: Readiness,
) -> None:
    blind, other = Watcher(readiness, reads=False), Watcher(readiness)
    await blind.writes.wait()
    async with asyncio.timeout(10):
        assert await other.told.get() == "NOT_SERVING"
        await readiness.started()
        assert await other.told.get() == "SERVING"
        await readiness.stopping()
        assert await other.told.get() == "NOT_SERVING"
        late = Watcher(readiness)
        assert await late.told.get() == "NOT_SERVING"
    for watcher in (blind, other, late):
        watcher.call.cancel()


async def test_a_watcher_that_does_not_read_is_ended(
    readiness: Readiness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("okey_runtime.health_servicer.UNREAD_FOR_S", 0.01)
    blind = Watcher(readiness, reads=False)
    with pytest.raises(AbortError):
        async with asyncio.timeout(10):
            await blind.call
    assert blind.ended == [grpc.StatusCode.RESOURCE_EXHAUSTED]


async def test_a_watcher_of_a_name_that_is_not_here_is_told_so(readiness: Readiness) -> None:
    watcher = Watcher(readiness, "okey.test.Unknown")
    async with asyncio.timeout(10):
        assert await watcher.told.get() == "SERVICE_UNKNOWN"
    watcher.call.cancel()
