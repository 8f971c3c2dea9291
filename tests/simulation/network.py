"""Calls between simulated processes: the real stubs and the real servicers, no sockets.

Requests and answers are lost, doubled, late and pass each other; whoever dies while it is asked
never answers, and its callers learn it.
"""

# gRPC's handler class is generic to the type checker only.
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import grpc

from okey_runtime.access import AccessTable
from okey_runtime.arriving import Arrivals
from okey_runtime.clock import Clock
from okey_runtime.identity import Identity, Role
from okey_runtime.interceptors import CallInterceptor
from okey_runtime.limits import CallLimits, Gate
from okey_runtime.revocation import Revocations
from okey_runtime.served import Callers
from tests.chaos.tables.history import ENGINE
from tests.simulation.loop import Process, SimulatedLoop, current
from tests.simulation.trace import Trace
from tests.simulation.weather import Strike, Weather

Metadata = tuple[tuple[str, str | bytes], ...]

FOR_EVER_MS: Final = 1 << 60
ANY_ENGINE: Final = "any engine"
"""An address behind which a balancer stands."""


class NamedVerifier:
    """Takes a token for what it says: ``<role>/<subject>``."""

    def verify(self, token: str) -> Identity:
        """Whoever it names."""
        role, _, subject = token.partition("/")
        return Identity(subject, frozenset({Role(role)}), subject, FOR_EVER_MS)


def call_interceptor(access: AccessTable, clock: Clock) -> CallInterceptor:
    """What every call goes through, with limits that nobody meets."""
    most = 1 << 30
    limits = CallLimits(per_s=most, burst=most, streams=most, calls=most, call_ms=most)
    arrivals = Arrivals(FOR_EVER_MS, most)
    return CallInterceptor(
        Callers(NamedVerifier()), access, Gate(limits, clock), arrivals, Revocations(clock)
    )


def token_of(role: Role, subject: str) -> str:
    """The token of somebody."""
    return f"{role.value}/{subject}"


def failure(code: grpc.StatusCode, details: str, trailing: Metadata = ()) -> grpc.aio.AioRpcError:
    """What a client is told of a call that did not end well."""
    return grpc.aio.AioRpcError(
        code, grpc.aio.Metadata(), grpc.aio.Metadata(*trailing), details=details
    )


class ServedContext:
    """What a servicer is given beside the request."""

    def __init__(
        self,
        metadata: Metadata,
        receive: Callable[[], Awaitable[bytes | None]],
        send: Callable[[bytes], None] | None = None,
    ) -> None:
        self._receive = receive
        self.status: grpc.aio.AioRpcError | None = None
        self._metadata = metadata
        self._send = send
        self._serialize: Callable[[Any], bytes] = bytes

    def serialize_with(self, serialize: Callable[[Any], bytes]) -> None:
        """How messages of the stream become bytes."""
        self._serialize = serialize

    def invocation_metadata(self) -> Metadata:
        """What came with the call."""
        return self._metadata

    async def read(self) -> object:
        """The next message of the caller, as bytes."""
        wire = await self._receive()
        return grpc.aio.EOF if wire is None else wire

    def time_remaining(self) -> None:
        """No deadline: the virtual clock is not the one that the deadline would be of."""
        return

    def code(self) -> object:
        """The code of an aborted call."""
        return self.status.code() if self.status is not None else None

    def done(self) -> bool:
        """Whether it has its status."""
        return self.status is not None

    async def abort(
        self, code: grpc.StatusCode, details: str = "", trailing_metadata: Metadata = ()
    ) -> None:
        """End the call."""
        self.status = failure(code, details, trailing_metadata)
        raise grpc.aio.AbortError

    async def write(self, message: Any) -> None:
        """Send one message of a stream."""
        assert self._send is not None, "a unary call writes nothing"
        self._send(self._serialize(message))


class Server:
    """The gRPC server of one process; the network finds it by its address."""

    def __init__(self, process: Process, interceptor: CallInterceptor) -> None:
        self.process: Final = process
        self.is_open = False
        self._under_way: dict[object, tuple[Callable[[], None], asyncio.Task[None]]] = {}
        self._interceptor = interceptor
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    def add_generic_rpc_handlers(self, handlers: object) -> None:
        """The same handlers come once more, by name."""

    def add_registered_method_handlers(
        self, service: str, handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]]
    ) -> None:
        """A servicer's methods."""
        for name, handler in handlers.items():
            self._handlers[f"/{service}/{name}"] = handler

    def begin(self, call: object, tell: Callable[[], None], task: asyncio.Task[None]) -> None:
        """A call is served now; ``tell`` tells its caller that this process is gone."""
        self._under_way[call] = (tell, task)

    def end(self, call: object) -> None:
        """It is served."""
        self._under_way.pop(call, None)

    def vanish(self) -> None:
        """The process is gone."""
        self.is_open = False
        for tell, _ in list(self._under_way.values()):
            tell()
        self._under_way.clear()

    async def stop(self, grace_s: float) -> None:
        """Take no more calls, and end those that do not end by themselves."""
        self.is_open = False
        tasks = [task for _, task in self._under_way.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def handler(self, method: str) -> grpc.RpcMethodHandler[Any, Any]:
        """The method with everything that stands around it in production."""

        async def known(_: object) -> grpc.RpcMethodHandler[Any, Any] | None:
            return self._handlers.get(method)

        details = _Details(method)
        found = await self._interceptor.intercept_service(known, details)
        assert found is not None, f"{method} is not served"
        return found


class _Details(grpc.HandlerCallDetails):
    def __init__(self, method: str) -> None:
        self.method = method
        self.invocation_metadata = ()


class Network:
    """Who is reached under which address, and what becomes of messages on the way."""

    def __init__(self, loop: SimulatedLoop, weather: Weather, trace: Trace) -> None:
        self.loop: Final = loop
        self.weather: Final = weather
        self.trace: Final = trace
        self.process: Final = loop.process("network")
        self.answers: Final[list[tuple[str, bytes, bytes]]] = []
        """Method, request and answer of each call that was answered well."""
        self._servers: dict[str, Server] = {}

    def listen(self, address: str, server: Server) -> None:
        """From now on the address is the server's."""
        self._servers[address] = server

    def server_at(self, address: str) -> Server | None:
        """Who takes calls there, at ``ANY_ENGINE`` one of those who do; None where nobody does."""
        if address == ANY_ENGINE:
            found = [each for name, each in self._servers.items() if name.startswith(ENGINE)]
            ready = [each for each in found if each.is_open]
            return self.weather.one_of(ready) if ready else None
        server = self._servers.get(address)
        return server if server is not None and server.is_open else None

    def hang_up(self, process: Process) -> None:
        """The process is gone: whoever waits for its answers learns it."""
        for server in self._servers.values():
            if server.process is process:
                server.vanish()

    def serves_late(self, method: str) -> bool:
        """Whether a request is carried out that arrives when its caller waits no longer.

        Those between services are, which must bear it. A player is told what became of a command
        by the last answer: a later one would make that untrue.
        """
        return "TableService" not in method

    def later(self, work: Callable[..., None], *args: Any, after_s: float | None = None) -> None:
        """Let the network do something once a message has crossed it."""
        delay = self.weather.hop_s() if after_s is None else after_s
        self.loop.call_later(delay, work, *args, context=self.process.context)


class Exchange:
    """One unary call: the request's copies, and the answer."""

    def __init__(
        self, network: Network, address: str, method: str, wire: bytes, metadata: Metadata
    ) -> None:
        self.answer: Final[asyncio.Future[bytes]] = network.loop.create_future()
        self._network = network
        self._address = address
        self._method = method
        self._wire = wire
        self._metadata = metadata
        self._caller = current()
        self._crossing = network.weather.call()
        self._left = len(self._crossing.there_s)
        self._running: list[tuple[Server, asyncio.Task[None]]] = []
        self._is_over = False

    def send(self) -> None:
        """Send every copy that arrives."""
        for there_s in self._crossing.there_s:
            self._network.later(self._arrive, after_s=there_s)

    def over(self) -> None:
        """The caller waits no longer; whoever works on it is told."""
        self._is_over = True
        for server, task in self._running:
            if server.process.is_alive:
                self._network.loop.call_later(
                    self._network.weather.hop_s(), task.cancel, context=server.process.context
                )

    def broken(self) -> None:
        """The other side has gone."""
        self._left -= 1
        self._network.later(self._fail, grpc.StatusCode.UNAVAILABLE, "connection reset")

    def _arrive(self) -> None:
        network = self._network
        server = network.server_at(self._address)
        if server is None:
            self._left -= 1
            network.later(self._fail, grpc.StatusCode.UNAVAILABLE, "connection refused")
            return
        if self._is_over and not self._network.serves_late(self._method):
            return
        _struck(network, server.process, self._crossing.before)
        if not server.process.is_alive:
            self.broken()
            return
        context = server.process.context.copy()
        call = object()
        task = network.loop.create_task(self._serve(server, call), context=context)
        self._running.append((server, task))
        server.begin(call, self.broken, task)

    async def _serve(self, server: Server, call: object) -> None:
        handler = await server.handler(self._method)
        context: Any = ServedContext(self._metadata, self._request)
        assert handler.stream_unary is not None
        assert handler.response_serializer is not None
        try:
            nothing: Any = None  # it reads by its context
            answered = await handler.stream_unary(nothing, context)
            outcome: bytes | grpc.aio.AioRpcError = handler.response_serializer(answered)
        except grpc.aio.AbortError:
            assert context.status is not None
            outcome = context.status
        except asyncio.CancelledError:
            self._network.later(self._fail, grpc.StatusCode.CANCELLED, "the server has cut it off")
            raise
        finally:
            server.end(call)
        self._left -= 1
        _struck(self._network, server.process, self._crossing.after)
        if not server.process.is_alive:
            self._network.later(self._fail, grpc.StatusCode.UNAVAILABLE, "connection reset")
        elif self._left == 0 and self._crossing.is_answered:
            # Of a doubled request the last answer counts: only it knows what became of both.
            self._network.later(self._deliver, outcome, after_s=self._crossing.back_s)

    async def _request(self) -> bytes:
        return self._wire

    def _deliver(self, outcome: bytes | grpc.aio.AioRpcError) -> None:
        network = self._network
        _struck(network, self._caller, self._crossing.sender)
        if isinstance(outcome, bytes):
            network.answers.append((self._method, self._wire, outcome))
        if self.answer.done():
            return
        if isinstance(outcome, bytes):
            network.trace.event(f"{self._caller.name} {self._method} OK", self._wire + outcome)
            self.answer.set_result(outcome)
        else:
            network.trace.event(f"{self._caller.name} {self._method} {outcome.code().name}")
            self.answer.set_exception(outcome)

    def _fail(self, code: grpc.StatusCode, details: str) -> None:
        if not self.answer.done():
            self._network.trace.event(f"{self._caller.name} {self._method} {details}")
            self.answer.set_exception(failure(code, details))


def _struck(network: Network, process: Process, strike: Strike) -> None:
    if strike is not Strike.NOTHING and process.is_alive:
        network.weather.strike(process, strike)
