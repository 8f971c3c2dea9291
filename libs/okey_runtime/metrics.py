"""What Prometheus reads of every service: calls by method and code, their latency, and how late the
event loop runs.
"""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, make_server

import grpc
from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, ThreadingWSGIServer

from okey_runtime.clock import Clock

LATENCY_BUCKETS_S: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
)  # fmt: skip
"""Buckets for anything a person waits for."""

_LAG_PROBE_MS: Final = 500
_STOP_POLL_S: Final = 0.05
MOST_AT_ONCE: Final = 32
"""Scrapes; a Prometheus or two make one each in many seconds."""
_SILENCE_S: Final = 5
KEPT_FOR_S: Final = 1.0
"""How old the text may be that a scrape gets."""

LOOP_LAG_S: Final = Histogram(
    "okey_event_loop_lag_seconds",
    "How much later than asked the event loop wakes a sleeper, twice a second.",
    buckets=LATENCY_BUCKETS_S,
)


Labels = Mapping[str, Iterable[str]]
"""Each label with the values that are known beforehand."""


def counter(name: str, documentation: str, labels: Labels) -> Counter:
    """A counter whose series are all there from the start, at 0.

    Prometheus sees no increase in a series that begins at 1: the first failure of each kind after
    each restart would be missed. A value that is not known beforehand is added once it comes.
    """
    made = Counter(name, documentation, tuple(labels))
    for values in product(*labels.values()):
        made.labels(*values)
    return made


def histogram(name: str, documentation: str, labels: Labels, buckets: Sequence[float]) -> Histogram:
    """The same for a histogram."""
    made = Histogram(name, documentation, tuple(labels), buckets=buckets)
    for values in product(*labels.values()):
        made.labels(*values)
    return made


class RpcMetrics:
    """Counters and latencies of served calls; one instance a registry."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        call = ("grpc_type", "grpc_service", "grpc_method")
        self.started = Counter("grpc_server_started_total", "Calls begun.", call, registry=registry)
        self.handled = Counter(
            "grpc_server_handled_total",
            "Calls ended, by code.",
            (*call, "grpc_code"),
            registry=registry,
        )
        self.seconds = Histogram(
            "grpc_server_handling_seconds",
            "How long unary calls take; a stream lasts as long as it is watched and is left out.",
            call,
            buckets=LATENCY_BUCKETS_S,
            registry=registry,
        )

    def of_method(self, kind: str, method: str) -> "MethodMetrics":
        """The children of one method (``/package.Service/Method``), looked up once; with each code
        of gRPC from the start.
        """
        _, service, name = method.split("/")
        labels = (kind, service, name)
        return MethodMetrics(
            self.started.labels(*labels),
            self.seconds.labels(*labels) if kind == "unary" else None,
            {code.name: self.handled.labels(*labels, code.name) for code in grpc.StatusCode},
        )


@dataclass(frozen=True, slots=True)
class MethodMetrics:
    """The metrics of one method, with label lookups done beforehand."""

    started: Counter
    seconds: Histogram | None
    by_code: Mapping[str, Counter]

    def ended(self, code: str, seconds: float) -> None:
        """Count one call that ended with the code after so many seconds."""
        self.by_code[code].inc()
        if self.seconds is not None:
            self.seconds.observe(seconds)


RPC_METRICS: Final = RpcMetrics()


async def watch_loop_lag(clock: Clock, histogram: Histogram = LOOP_LAG_S) -> None:
    """Measure for ever how late the loop wakes a sleeper; run it as a task."""
    while True:
        due_ms = clock.monotonic_ms() + _LAG_PROBE_MS
        await clock.sleep_until_ms(due_ms)
        histogram.observe(max(0, clock.monotonic_ms() - due_ms) / 1000)


class _QuietHandler(WSGIRequestHandler):
    timeout = _SILENCE_S

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Scrapes are not worth a line."""


class _BoundedServer(ThreadingWSGIServer):
    """A thread a connection, and so many at once; whoever comes beyond that is hung up on."""

    request_queue_size = 128

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._room = threading.BoundedSemaphore(MOST_AT_ONCE)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve the connection in a thread, if there is room."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve it, and make room for the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks off or says nothing is none of ours to explain."""


class Page:
    """The metrics as text, written at most once in ``KEPT_FOR_S``: it costs milliseconds of the
    core that serves calls, and anybody who reaches the port may ask.
    """

    def __init__(
        self, registry: CollectorRegistry, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._registry = registry
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._text = b""
        self._until_s = -math.inf

    def text(self) -> bytes:
        """What it says, as of the last ``KEPT_FOR_S``."""
        with self._lock:
            if self._monotonic_s() >= self._until_s:
                self._text = generate_latest(self._registry)
                self._until_s = self._monotonic_s() + KEPT_FOR_S
            return self._text

    def __call__(self, environ: object, start_response: Any) -> Iterable[bytes]:
        """The answer to a request, whatever that asks for."""
        text = self.text()
        start_response(
            "200 OK",
            [("Content-Type", CONTENT_TYPE_PLAIN_0_0_4), ("Content-Length", str(len(text)))],
        )
        return [text]


class MetricsServer:
    """``/metrics`` over HTTP on a port of its own, served by a thread so that a busy loop can still
    be seen.
    """

    def __init__(self, host: str, port: int, registry: CollectorRegistry = REGISTRY) -> None:
        self._server = make_server(
            host, port, Page(registry), _BoundedServer, handler_class=_QuietHandler
        )
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_STOP_POLL_S,), name="metrics", daemon=True
        )
        self._thread.start()
        self.port: int = self._server.server_port

    async def stop(self) -> None:
        """Close the port."""
        await asyncio.to_thread(self._server.shutdown)
        self._server.server_close()
        await asyncio.to_thread(self._thread.join)
