"""A service's process from start to graceful end: gRPC server, health, reflection, metrics port,
signals, drain.

A service is an ``App``; ``serve(app)`` is the whole of its ``__main__``.
"""

import asyncio
import json
import signal
import sys
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Final, Protocol, Self

import grpc
import uvloop
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from okey.api.common.v1 import status_pb2_grpc
from okey_runtime import failpoints, status_servicer
from okey_runtime.access import ANY_ROLE, HEALTH, PUBLIC, AccessTable, reflection_access
from okey_runtime.arriving import Arrivals
from okey_runtime.auth import TokenVerifier
from okey_runtime.channel import open_channel
from okey_runtime.clock import Clock, SystemClock
from okey_runtime.config import Reflection, ServiceSettings
from okey_runtime.connections import Connections
from okey_runtime.environment import CHECK_FLAG, UNUSABLE_SETTINGS
from okey_runtime.files import write_atomically
from okey_runtime.garbage import look_seldom, spare_what_lives
from okey_runtime.grpc_threads import start_grpc
from okey_runtime.interceptors import CallInterceptor
from okey_runtime.keys import KeyFileBroken
from okey_runtime.limits import CallLimits, Gate
from okey_runtime.logging import configure_logging, get_logger
from okey_runtime.metrics import MetricsServer, watch_loop_lag
from okey_runtime.own_tokens import OwnTokens
from okey_runtime.production import guarded
from okey_runtime.readiness import Readiness
from okey_runtime.request_size import most_bytes_of
from okey_runtime.revocation import Revocations
from okey_runtime.server_options import probe_options, server_options
from okey_runtime.service_token import MetadataProvider
from okey_runtime.status import Status
from okey_runtime.tls import CertificateBroken, ClientTls, Security, is_loopback, server_credentials
from okey_runtime.trust import JwksMissing, Trust

_log = get_logger(__name__)


class App(Protocol):
    """What a service brings; everything else about its process is the same for all."""

    @property
    def settings(self) -> ServiceSettings:
        """The service's settings."""
        ...

    @property
    def services(self) -> Sequence[str]:
        """Full names of the gRPC services it serves, for health and reflection."""
        ...

    @property
    def access(self) -> AccessTable:
        """Who may call which of its methods."""
        ...

    async def start(self, host: "ServiceServer") -> None:
        """Open stores, register servicers on ``host.grpc``, start background work with
        ``host.spawn``.
        """
        ...

    async def drain(self) -> None:
        """Take no new work, hand over the rest, end streams; bounded by ``drain_timeout_ms``.

        Called only if ``start`` has succeeded.
        """
        ...

    async def close(self) -> None:
        """Release what ``start`` opened; called after the last call has ended, also if ``start``
        failed.
        """
        ...


class ServiceServer:
    """A running service; ``async with ServiceServer(app) as server`` is how tests run one in
    process.

    ``names`` are the services that it is to its callers, whose tokens are made for them; by default
    the package of the app.
    """

    def __init__(self, app: App, clock: Clock | None = None, names: Sequence[str] = ()) -> None:
        self.app: Final = app
        self.settings: Final = app.settings
        self.clock: Final[Clock] = clock or SystemClock()
        self.readiness: Final = Readiness(app.services)
        package = type(app).__module__.removesuffix(".app").rpartition(".")[2]
        self.status: Final = Status(package, self.clock, self.readiness)
        self.revocations: Final = Revocations(self.clock)
        trust = Trust(self.settings, names or [package], self.clock, self.status, self.revocations)
        self.verifier: Final[TokenVerifier] = trust.verifier
        self.tokens: Final[OwnTokens] = trust.tokens
        """By which this service is known to those that it calls."""
        self._connections: Final = Connections(
            self.settings.most_connections_per_address, self.clock
        )
        self.gate: Final = Gate(_limits(self.settings), self.clock)
        """Counts the calls; a service with another door counts there too."""
        self.grpc: Final = grpc.aio.server(
            interceptors=[
                CallInterceptor(
                    trust.callers(self._connections),
                    app.access | HEALTH | _reflection(self.settings) | status_servicer.ACCESS,
                    self.gate,
                    Arrivals(self.settings.first_message_ms, share=self.settings.calls_burst),
                    self.revocations,
                ),
            ],
            options=server_options(self.settings, most_bytes_of(app.services)),
        )
        self._security: Final = self.settings.security()
        self.address = ""
        """host:port at which other services reach this one; known before ``App.start`` is called.
        """
        self.metrics_address = ""
        self.has_started: Final = asyncio.Event()
        """Set once ``start`` has succeeded: callers reach the service."""
        self._cleanup = AsyncExitStack()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ending = asyncio.Event()
        self._failure: BaseException | None = None

    @property
    def is_serving(self) -> bool:
        """Whether ``start`` has succeeded."""
        return self.has_started.is_set()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Bind the ports, start the app, serve, say ready and write the address file.

        Raises:
            RuntimeError: a port is taken.
            SqliteInUse: in production, another process serves the same SQLite file.
        """
        settings = self.settings
        self._cleanup.enter_context(guarded(settings, settings.database_url))
        port = self._bind()
        self.address = settings.advertise_address or f"{settings.listen_host}:{port}"
        await self._tell_state()
        # Undone in the reverse order by `stop`, each step whatever became of the others.
        self._cleanup.push_async_callback(self.app.close)
        self._cleanup.push_async_callback(self._cancel_background_work)
        self._cleanup.push_async_callback(self.grpc.stop, settings.stop_grace_ms / 1000)
        self.spawn(watch_loop_lag(self.clock), "loop-lag")
        self.spawn(self._connections.watch(port), "connections")
        await self.app.start(self)
        self._cleanup.push_async_callback(self._drain)
        await self.grpc.start()
        await self.readiness.started()
        self.has_started.set()
        self.status.started_ms = self.clock.now_ms()
        if settings.address_file is not None:
            addresses = {"grpc": self.address, "metrics": self.metrics_address}
            write_atomically(settings.address_file, json.dumps(addresses))
        _log.info("serving", address=self.address, metrics=self.metrics_address)

    def dial(
        self,
        address: str,
        token: MetadataProvider | None = None,
        idempotent: Iterable[str] = (),
        *,
        tls_name: str = "",
    ) -> grpc.aio.Channel:
        """A channel to another service, protected as the settings say; close it when done.

        ``tls_name`` is the name that its certificate has, where it is not the dialled one.
        """
        security = self._security
        if tls_name and isinstance(security, ClientTls):
            security = security.named(tls_name)
        return open_channel(address, token=token, idempotent=idempotent, security=security)

    @property
    def security(self) -> Security:
        """How other services are dialled."""
        return self._security

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run background work for as long as the service lives; if it fails, the service ends with
        an error.

        It is cancelled after the drain, before ``App.close``.
        """
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    def end(self) -> None:
        """Ask the service to stop gracefully; ``wait`` returns."""
        self._ending.set()

    async def wait(self) -> None:
        """Return when the service is asked to end.

        Raises:
            BaseException: what background work has failed with.
        """
        await self._ending.wait()
        if self._failure is not None:
            raise self._failure

    async def stop(self) -> None:
        """Readiness off, drain, end calls in the grace, cancel background work, close the app."""
        await self.readiness.stopping()
        await self._cleanup.aclose()
        _log.info("stopped", address=self.address)

    def _bind(self) -> int:
        settings = self.settings
        address = f"{settings.listen_host}:{settings.listen_port}"
        if settings.tls_cert_file is None:
            if not is_loopback(settings.listen_host):
                _log.warning(
                    "connections_are_plaintext",
                    address=address,
                    why="OKEY_ALLOW_PLAINTEXT is set: whoever is on the network's way can read "
                    "tokens and tiles unless it encrypts",
                )
            return self.grpc.add_insecure_port(address)
        # Held for as long as the server lives: it asks for the certificate at each connection.
        self._credentials = server_credentials(
            settings.certificate_files(),
            requires_clients_certificate=settings.tls_require_client_cert,
        )
        return self.grpc.add_secure_port(address, self._credentials)

    async def _drain(self) -> None:
        await asyncio.sleep(self.settings.drain_delay_ms / 1000)
        try:
            async with asyncio.timeout(self.settings.drain_timeout_ms / 1000):
                await self.app.drain()
        except TimeoutError:
            _log.error("drain_timed_out", drain_timeout_ms=self.settings.drain_timeout_ms)

    async def _cancel_background_work(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or task.exception() is None:
            return
        _log.error("background_work_failed", work=task.get_name(), exc_info=task.exception())
        self._failure = self._failure or task.exception()
        self._ending.set()

    async def _tell_state(self) -> None:
        """Health, reflection and metrics: what is served whatever the app is."""
        host = self.settings.listen_host
        metrics = MetricsServer(host, self.settings.metrics_port)
        self._cleanup.push_async_callback(metrics.stop)
        self.metrics_address = f"{host}:{metrics.port}"
        await self.readiness.announce()
        health_pb2_grpc.add_HealthServicer_to_server(self.readiness.servicer, self.grpc)
        status = status_servicer.StatusServicer(self.status)
        status_pb2_grpc.add_StatusServiceServicer_to_server(status, self.grpc)
        if self.settings.reflection_policy is not Reflection.OFF:
            beside = (status_servicer.SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection([*self.app.services, *beside], self.grpc)
        if self.settings.health_port is not None:
            probed = grpc.aio.server(options=probe_options())
            health_pb2_grpc.add_HealthServicer_to_server(self.readiness.servicer, probed)
            probed.add_insecure_port(f"{host}:{self.settings.health_port}")
            await probed.start()
            self._cleanup.push_async_callback(probed.stop, None)


def serve(app: App) -> None:
    """Run the service until SIGTERM or SIGINT. The process ends with status 2 if a file that its
    settings name cannot be used, with 1 if it cannot start or background work fails. With
    ``CHECK_FLAG`` it shows its settings instead.
    """
    settings = app.settings
    if CHECK_FLAG in sys.argv[1:]:
        sys.stdout.write(f"{settings.shown()}\n")
        return
    service = type(app).__module__.removesuffix(".app")
    configure_logging(service, settings.log_level, settings.log_format, settings.audit_file)
    failpoints.arm_process(settings)
    look_seldom()
    uvloop.run(_serve(app))


async def _serve(app: App) -> None:
    start_grpc()
    try:
        server = ServiceServer(app)
    except (CertificateBroken, JwksMissing, KeyFileBroken) as error:
        # What a setting names is as good as the setting: one line, and the same status.
        _log.critical("settings_refused", error=str(error))
        raise SystemExit(UNUSABLE_SETTINGS) from error
    serving = asyncio.ensure_future(_until_end(server))
    loop = asyncio.get_running_loop()

    def end() -> None:
        server.end()
        if not server.is_serving:
            # It may wait for something that does not come; what has been started is undone.
            serving.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    try:
        await serving
    except asyncio.CancelledError:
        _log.info("ended_before_serving")
    except Exception as error:
        _log.critical("service_failed", exc_info=error)
        raise SystemExit(1) from error


async def _until_end(server: ServiceServer) -> None:
    async with server:
        spare_what_lives()
        await server.wait()


def _limits(settings: ServiceSettings) -> CallLimits:
    return CallLimits(
        per_s=settings.calls_per_s,
        burst=settings.calls_burst,
        streams=settings.streams_per_player,
        calls=settings.most_calls,
        call_ms=settings.max_call_ms,
        cost_per_s=settings.cost_per_s,
        cost_burst=settings.cost_burst,
    )


def _reflection(settings: ServiceSettings) -> AccessTable:
    is_open = settings.reflection_policy is Reflection.OPEN
    return reflection_access(PUBLIC if is_open else ANY_ROLE)
