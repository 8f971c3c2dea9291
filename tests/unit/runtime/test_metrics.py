import asyncio
import threading
import urllib.request
from contextlib import AsyncExitStack

import pytest
from prometheus_client import CollectorRegistry, Gauge, Histogram

from okey_runtime.clock import VirtualClock
from okey_runtime.metrics import MOST_AT_ONCE, MetricsServer, Page, RpcMetrics, watch_loop_lag

LABELS = {"grpc_type": "unary", "grpc_service": "a.B", "grpc_method": "C"}


def test_calls_are_counted_by_method_and_code() -> None:
    registry = CollectorRegistry()
    method = RpcMetrics(registry).of_method("unary", "/a.B/C")
    for code in ("OK", "OK", "NOT_FOUND"):
        method.ended(code, 0.003)
    count = {
        code: registry.get_sample_value("grpc_server_handled_total", {**LABELS, "grpc_code": code})
        for code in ("OK", "NOT_FOUND")
    }
    assert count == {"OK": 2, "NOT_FOUND": 1}


def test_latency_of_unary_calls_is_measured() -> None:
    registry = CollectorRegistry()
    RpcMetrics(registry).of_method("unary", "/a.B/C").ended("OK", 0.003)
    buckets = {
        le: registry.get_sample_value("grpc_server_handling_seconds_bucket", {**LABELS, "le": le})
        for le in ("0.0025", "0.005")
    }
    assert buckets == {"0.0025": 0, "0.005": 1}


def test_streams_have_no_latency() -> None:
    registry = CollectorRegistry()
    RpcMetrics(registry).of_method("bidi_stream", "/a.B/C").ended("OK", 3_600)
    labels = {**LABELS, "grpc_type": "bidi_stream"}
    assert registry.get_sample_value("grpc_server_handling_seconds_count", labels) is None


async def test_the_loops_lag_is_measured() -> None:
    clock = VirtualClock()
    registry = CollectorRegistry()
    lag = Histogram("lag", "", registry=registry)
    watching = asyncio.create_task(watch_loop_lag(clock, lag))
    await asyncio.sleep(0)
    clock.advance_ms(700)
    await asyncio.sleep(0)
    watching.cancel()
    assert registry.get_sample_value("lag_sum") == 0.2
    assert registry.get_sample_value("lag_count") == 1


def test_the_text_of_the_metrics_is_written_once_a_second() -> None:
    now_s = 0.0
    registry = CollectorRegistry()
    gauge = Gauge("okey_answer", "", registry=registry)
    page = Page(registry, lambda: now_s)
    first = page.text()
    gauge.set(42)
    now_s = 0.9
    assert page.text() is first
    now_s = 1.0
    assert b"okey_answer 42.0" in page.text()


async def test_metrics_are_served_over_http_until_stopped() -> None:
    registry = CollectorRegistry()
    Gauge("okey_answer", "", registry=registry).set(42)
    server = MetricsServer("127.0.0.1", 0, registry)

    def scrape() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=5) as page:
            return str(page.read().decode())

    assert "okey_answer 42.0" in await asyncio.to_thread(scrape)
    await server.stop()
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(scrape)


async def test_a_flood_of_connections_costs_so_many_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The others are hung up on, and scrapes go on once there is room."""
    monkeypatch.setattr("okey_runtime.metrics._QuietHandler.timeout", 3_600)
    registry = CollectorRegistry()
    Gauge("okey_answer", "", registry=registry).set(42)
    before = threading.active_count()
    server = MetricsServer("127.0.0.1", 0, registry)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.stop)
        streams = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(100)]
        # Served one after another: when the last one is hung up on, all others have their threads.
        async with asyncio.timeout(10):
            hung_up = [await reader.read() for reader, _ in streams[MOST_AT_ONCE:]]
        assert hung_up == [b""] * (100 - MOST_AT_ONCE)
        assert threading.active_count() <= before + MOST_AT_ONCE + 1
        for _, writer in streams:
            writer.close()
        async with asyncio.timeout(10):
            while "okey_answer 42.0" not in await asyncio.to_thread(scraped, server):
                pass


async def test_a_connection_that_says_nothing_is_hung_up_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("okey_runtime.metrics._QuietHandler.timeout", 0.05)
    server = MetricsServer("127.0.0.1", 0, CollectorRegistry())
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    writer.close()
    await server.stop()


def scraped(server: MetricsServer) -> str:
    """What the port says; "" while it hangs up."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as page:
            text: str = page.read().decode()
            return text
    except OSError:
        return ""
