"""What callers may cost a real Envoy: each attack meets its limit, and others are served."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

import grpc
import pytest

from okey_runtime.allowlist import HOMES
from tests import http2
from tests.deploy import grpc_web
from tests.deploy.backend import FLOOD, HANGS, REACHED, Backend
from tests.deploy.edge import RunningEdge, lay_out_certificates, local_edge, running
from tests.deploy.raw_http2 import connected, speaking
from tests.fixtures.certificates import Authority
from tests.http2 import DATA, END_STREAM, HEADERS, RST_STREAM, SETTINGS, frame
from tools.manifests.envoy_limits import DEFAULTS, Limits

pytestmark = [pytest.mark.system, pytest.mark.timeout(60)]

Stream: TypeAlias = grpc.aio.StreamStreamCall[bytes, bytes]

ACT: Final = "/okey.api.engine.v1.TableService/Act"
PLAY: Final = "/okey.api.engine.v1.TableService/Play"
_UNREAD: Final = 60
SHORT: Final = replace(DEFAULTS, handshake_s=0.2, headers_s=0.2, idle_connection_s=0.5)
"""What waits for others is given up at once."""


@asynccontextmanager
async def limited(folder: Path, limits: Limits, secrets: str = "") -> AsyncIterator[RunningEdge]:
    """An edge with these limits, without a service behind it."""
    async with running(local_edge({}, secrets, limits=limits), folder) as found:
        yield found


@asynccontextmanager
async def fronted(folder: Path, limits: Limits) -> AsyncIterator[tuple[RunningEdge, Backend]]:
    """An edge with these limits, every service of which is the stand-in."""
    async with Backend().serving() as backend:
        configured = local_edge({home: [backend.address] for home in HOMES}, limits=limits)
        async with running(configured, folder) as edge:
            await edge.sees(dict.fromkeys(HOMES, 1))
            yield edge, backend


async def counted(edge: RunningEdge, metric: str) -> int:
    """The metric's sum over its labels; of connection managers the one that callers meet."""
    _, page = await edge.telemetry("/metrics")
    lines = [line for line in page.splitlines() if line.startswith(f"{metric}{{")]
    others = ('prefix="telemetry"', 'prefix="admin"')
    ours = [line for line in lines if not any(each in line for each in others)]
    return sum(int(float(line.rpartition(" ")[2])) for line in ours)


async def code_of(channel: grpc.aio.Channel, path: str, body: bytes = b"") -> grpc.StatusCode:
    """How a call ends."""
    method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(path)
    try:
        await method(body, timeout=20)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def opened(number: int, path: str, *more: tuple[str, str]) -> bytes:
    """The frame of a call's headers."""
    return http2.headers(number, path, more)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"P",
        b"POST /okey.api.engine.v1.TableService/Act HTTP/1.1\r\nhost: edge\r\nx-a: ",
        http2.PREFACE[:10],
        http2.hello() + frame(HEADERS, 0, 1, http2.header_block(ACT)),
    ],
    ids=["nothing", "a letter", "half of HTTP/1.1", "half a preface", "half of the headers"],
)
async def test_who_does_not_say_what_it_wants_is_hung_up_on(said: bytes, tmp_path: Path) -> None:
    async with limited(tmp_path, SHORT) as edge, connected(edge.address) as connection:
        await connection.send(said)

        await connection.reader.read()


async def test_who_does_not_finish_the_handshake_is_hung_up_on(tmp_path: Path) -> None:
    lay_out_certificates(tmp_path, Authority(tmp_path).issue("edge", "localhost"))
    late = replace(SHORT, idle_connection_s=3_600)
    async with limited(tmp_path, late, str(tmp_path)) as edge, AsyncExitStack() as open_until:
        for said in (b"", b"\x16\x03\x01\x02\x00\x01"):
            connection = await open_until.enter_async_context(connected(edge.address))
            await connection.send(said)

            assert await connection.reader.read() == b""


async def test_who_says_nothing_after_the_handshake_is_hung_up_on(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    lay_out_certificates(tmp_path, authority.issue("edge", "localhost"))
    trusted = ssl.create_default_context(cafile=str(authority.ca))
    async with limited(tmp_path, SHORT, str(tmp_path)) as edge:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", edge.edge.listen.port, ssl=trusted, server_hostname="localhost"
        )

        assert await reader.read() == b""
        writer.close()


async def test_connections_beyond_the_limit_are_closed_and_metrics_still_told(
    tmp_path: Path,
) -> None:
    async with limited(tmp_path, replace(DEFAULTS, connections=5)) as edge:
        async with AsyncExitStack() as open_until:
            held = [await open_until.enter_async_context(speaking(edge.address)) for _ in range(5)]
            for each in held:
                await each.answers([SETTINGS])
            beyond = [
                await open_until.enter_async_context(connected(edge.address)) for _ in range(20)
            ]

            assert [await each.reader.read() for each in beyond] == [b""] * 20
            assert await counted(edge, "envoy_listener_downstream_global_cx_overflow") == 20
            assert (await edge.telemetry("/ready"))[0] == 200

        # Once they have gone there is room again.
        while await counted(edge, "envoy_http_downstream_cx_active"):
            pass
        async with speaking(edge.address) as connection:
            await connection.answers([SETTINGS])


async def test_one_address_has_no_more_connections_than_a_crowd(tmp_path: Path) -> None:
    async with limited(tmp_path, replace(DEFAULTS, connections_per_crowd=3)) as edge:
        host, _, port = edge.address.rpartition(":")

        async def greeted(address: str) -> bool:
            """Whether Envoy speaks to it; a connection that it does speak to stays open."""
            reader, writer = await asyncio.open_connection(host, port, local_addr=(address, 0))
            held.append(writer)
            writer.write(http2.hello())
            with suppress(ConnectionError):
                return bool(await reader.read(1))
            return False

        held: list[asyncio.StreamWriter] = []
        assert [await greeted("127.0.0.2") for _ in range(6)] == [True] * 3 + [False] * 3
        # Most others are of another crowd; a hash decides, so some are not.
        others = [await greeted(f"127.0.0.{number}") for number in range(3, 15)]
        assert others.count(True) >= 6
        for each in held:
            each.close()


async def test_a_connection_has_no_more_streams_than_the_limit(tmp_path: Path) -> None:
    async with fronted(tmp_path, replace(DEFAULTS, streams_per_connection=3)) as (edge, backend):
        async with speaking(edge.address) as connection:
            told = await connection.answers([SETTINGS])
            await connection.send(*(opened(number, PLAY) for number in (1, 3, 5, 7)))
            refused = await connection.answers([RST_STREAM])

        assert b"\x00\x03\x00\x00\x00\x03" in told.payload
        assert refused.stream == 7
        assert len(backend.reached) <= 3


async def test_who_resets_streams_rapidly_is_hung_up_on(tmp_path: Path) -> None:
    """After the hundredth reset, so that services see no more than those."""
    async with fronted(tmp_path, DEFAULTS) as (edge, backend):
        async with speaking(edge.address) as connection:
            for number in range(1, 4_001, 2):
                reset = http2.reset(number)
                await connection.send(opened(number, PLAY), reset)
            await connection.rest()

        assert len(backend.reached) <= 100
        assert await counted(edge, "envoy_http_downstream_rq_rx_reset") <= 110
        assert await counted(edge, "envoy_http_downstream_rq_too_many_premature_resets") == 1
        async with grpc.aio.insecure_channel(edge.address) as channel:
            assert await code_of(channel, ACT) is REACHED


async def test_empty_frames_without_end_are_hung_up_on(tmp_path: Path) -> None:
    async with fronted(tmp_path, DEFAULTS) as (edge, _), speaking(edge.address) as connection:
        await connection.send(opened(1, PLAY), *([frame(DATA, 0, 1)] * 10))
        await connection.rest()

        assert await counted(edge, "envoy_http2_inbound_empty_frames_flood") == 1


async def test_headers_without_end_are_cut_at_their_largest_size(tmp_path: Path) -> None:
    """CONTINUATION for ever."""
    async with limited(tmp_path, DEFAULTS) as edge, speaking(edge.address) as connection:
        more = frame(http2.CONTINUATION, 0, 1, http2.header_block(ACT, [("x-a", "a" * 8_000)]))
        await connection.send(frame(HEADERS, 0, 1, http2.header_block(ACT)), *([more] * 200))
        await connection.rest()

        assert await counted(edge, "envoy_http_downstream_rq_total") <= 2


@pytest.mark.parametrize(
    "headers",
    [{"x-a": "a" * 13_000}, {f"x-{number}": "" for number in range(80)}],
    ids=["long", "many"],
)
async def test_headers_beyond_their_limits_are_refused(
    headers: dict[str, str], tmp_path: Path
) -> None:
    async with fronted(tmp_path, DEFAULTS) as (edge, backend):
        grpc_like = {"content-type": "application/grpc-web+proto", **headers}
        answer = await asyncio.to_thread(grpc_web.request, edge.address, "POST", ACT, grpc_like)

        assert answer.status == 431
        assert backend.reached == []


async def test_a_request_beyond_the_largest_one_is_not_passed_on(tmp_path: Path) -> None:
    async with fronted(tmp_path, DEFAULTS) as (edge, backend):
        async with grpc.aio.insecure_channel(edge.address) as channel:
            fits = await code_of(channel, ACT, bytes(DEFAULTS.request_bytes - 5))
            beyond = await code_of(channel, ACT, bytes(DEFAULTS.request_bytes - 4))

        assert fits is REACHED
        assert beyond not in (REACHED, grpc.StatusCode.OK)
        assert [len(each) for each in backend.bodies] == [DEFAULTS.request_bytes - 5]


async def test_a_stream_upwards_is_passed_on_before_it_ends(tmp_path: Path) -> None:
    """And may be longer in all than the largest request."""
    async with fronted(tmp_path, DEFAULTS) as (edge, backend):
        async with grpc.aio.insecure_channel(edge.address) as channel:
            stream: Stream = channel.stream_stream(PLAY)()
            await stream.read()
            for _ in range(4):
                await stream.write(bytes(8 << 10))
            await stream.done_writing()
            assert await stream.code() is REACHED

        assert backend.reached == [PLAY]
        assert [len(each) for each in backend.bodies] == [8 << 10] * 4


async def test_a_half_sent_request_reaches_nobody_and_ends_in_time(tmp_path: Path) -> None:
    """Whatever deadline the caller claims."""
    async with fronted(tmp_path, replace(DEFAULTS, unary_s=0.5)) as (edge, backend):
        async with speaking(edge.address) as connection:
            long = ("grpc-timeout", "99999999H")
            half = http2.grpc_message(bytes(100))[:50]
            await connection.send(opened(1, ACT, long), frame(DATA, 0, 1, half))
            ended = await connection.answers([HEADERS, RST_STREAM])

        assert ended.stream == 1
        assert backend.reached == []


async def test_a_call_that_nobody_answers_ends_in_time(tmp_path: Path) -> None:
    async with fronted(tmp_path, replace(DEFAULTS, unary_s=0.5)) as (edge, backend):
        async with grpc.aio.insecure_channel(edge.address) as channel:
            assert await code_of(channel, HANGS) is grpc.StatusCode.DEADLINE_EXCEEDED

        assert backend.reached == [HANGS]


async def test_a_stream_that_is_silent_for_too_long_ends(tmp_path: Path) -> None:
    short = replace(DEFAULTS, idle_stream_s=0.5)
    async with fronted(tmp_path, short) as (edge, _), grpc.aio.insecure_channel(edge.address) as to:
        stream: Stream = to.stream_stream(PLAY)()
        await stream.read()

        assert await stream.code() not in (REACHED, grpc.StatusCode.OK)


async def test_calls_of_one_address_beyond_its_limit_are_refused_and_others_served(
    tmp_path: Path,
) -> None:
    slow = replace(DEFAULTS, calls_per_s=1, calls_burst=10)
    async with fronted(tmp_path, slow) as (edge, backend):
        web = {"content-type": "application/grpc-web+proto"}

        def answers(host: str, calls: int) -> list[grpc_web.HttpAnswer]:
            asked = (edge.address, "POST", ACT, web)
            return [grpc_web.request(*asked, host=host) for _ in range(calls)]

        flood = await asyncio.to_thread(answers, "127.0.0.2", 60)
        other = await asyncio.to_thread(answers, "127.0.0.3", 5)

        refused = [each for each in flood if each.status == 429]
        assert len(refused) >= 40
        assert {each.status for each in other} == {200}
        assert len(backend.reached) == 65 - len(refused)


async def test_callers_of_grpc_are_told_that_they_call_too_often(tmp_path: Path) -> None:
    slow = replace(DEFAULTS, calls_per_s=1, calls_burst=1)
    async with fronted(tmp_path, slow) as (edge, _), grpc.aio.insecure_channel(edge.address) as to:
        codes = {await code_of(to, ACT) for _ in range(20)}

    assert codes == {REACHED, grpc.StatusCode.RESOURCE_EXHAUSTED}


async def test_callers_that_do_not_read_hold_up_nobody_else(tmp_path: Path) -> None:
    """Their streams share the connection to the service with the others' calls."""
    async with fronted(tmp_path, DEFAULTS) as (edge, backend):
        reads_nothing = {http2.INITIAL_WINDOW: 0}
        async with speaking(edge.address, reads_nothing) as connection:
            for number in range(1, 2 * _UNREAD, 2):
                body = frame(DATA, END_STREAM, number, http2.grpc_message(b""))
                await connection.send(opened(number, FLOOD), body)
            await backend.flooding(_UNREAD)
            async with grpc.aio.insecure_channel(edge.address) as channel:
                assert await code_of(channel, ACT) is REACHED


async def test_a_full_heap_lets_nobody_in_and_is_still_seen(tmp_path: Path) -> None:
    """Of a heap that is full from the start the probes and metrics hear."""
    active = "envoy_overload_envoy_overload_actions_reject_incoming_connections_active"
    async with limited(tmp_path, replace(DEFAULTS, heap_bytes=1 << 20)) as edge:
        while not await counted(edge, active):
            pass
        async with connected(edge.address) as connection:
            await connection.send(http2.hello())

            assert await connection.rest() == []
        assert (await edge.telemetry("/ready"))[0] == 200
