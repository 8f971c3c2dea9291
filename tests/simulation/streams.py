"""Streams between simulated processes: in order, until one side ends them or the network does."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc

from tests.simulation.loop import current
from tests.simulation.network import Metadata, Network, ServedContext, Server, failure

_End = grpc.aio.AioRpcError | None


class Pipe:
    """Messages in one direction, in order; after the end comes None, or the error it ended with."""

    def __init__(self) -> None:
        self.is_over = False
        self._waiting: deque[bytes] = deque()
        self._end: _End = None
        self._reader: asyncio.Future[None] | None = None

    def put(self, wire: bytes) -> None:
        """A message has arrived."""
        if not self.is_over:
            self._waiting.append(wire)
            self._wake()

    def end(self, error: _End = None) -> None:
        """Nothing comes any more."""
        if not self.is_over:
            self.is_over, self._end = True, error
            self._wake()

    async def get(self) -> bytes | None:
        """The next message; None at the end. Raises what the stream broke with."""
        while not self._waiting:
            if self.is_over:
                if self._end is not None:
                    raise self._end
                return None
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        return self._waiting.popleft()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


class Stream:
    """One call with a stream in at least one direction; the client's end of it."""

    def __init__(
        self,
        network: Network,
        address: str,
        method: str,
        metadata: Metadata,
        serialize: Callable[[Any], bytes],
        deserialize: Callable[[bytes], Any] | None,
    ) -> None:
        self._network = network
        self._address = address
        self._method = method
        self._metadata = metadata
        self._serialize = serialize
        self._deserialize = deserialize
        self._caller = current()
        self._up, self._down = Pipe(), Pipe()
        self._up_s = self._down_s = 0.0
        self._server: Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_hung_up = False
        self._go_up(self._arrive)
        lasts_s = network.weather.stream_lasts_s()
        if lasts_s is not None:
            network.later(self._break, after_s=lasts_s)

    # The client's side ----------------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        wire = await self._down.get()
        if wire is None:
            raise StopAsyncIteration
        return wire if self._deserialize is None else self._deserialize(wire)

    async def write(self, message: Any) -> None:
        """Send a message up."""
        if self._down.is_over or self._is_hung_up:
            raise asyncio.InvalidStateError("the stream is over")
        self._go_up(self._up.put, self._serialize(message))

    async def done_writing(self) -> None:
        """Nothing goes up any more."""
        self._go_up(self._up.end)

    def send_only(self, message: Any) -> None:
        """The one request of a call whose stream goes down only."""
        self._go_up(self._up.put, self._serialize(message))
        self._go_up(self._up.end)

    def cancel(self) -> bool:
        """Hang up."""
        if not self._is_hung_up:
            self._is_hung_up = True
            self._down.end()
            self._go_up(self._stop)
        return True

    # In between -----------------------------------------------------------------------------------

    def _go_up(self, work: Callable[..., None], *args: Any) -> None:
        now_s = self._network.loop.time()
        self._up_s = max(self._up_s + 1e-6, now_s + self._network.weather.hop_s())
        self._network.later(work, *args, after_s=self._up_s - now_s)

    def _go_down(self, work: Callable[..., None], *args: Any) -> None:
        now_s = self._network.loop.time()
        self._down_s = max(self._down_s + 1e-6, now_s + self._network.weather.hop_s())
        self._network.later(work, *args, after_s=self._down_s - now_s)

    def _break(self) -> None:
        self._network.trace.event(f"{self._caller.name} {self._method} breaks")
        self._down.end(failure(grpc.StatusCode.UNAVAILABLE, "connection reset"))
        self._stop()

    def _broken(self) -> None:
        """The other side has gone."""
        reset = failure(grpc.StatusCode.UNAVAILABLE, "connection reset")
        self._go_down(self._down.end, reset)

    # The server's side ----------------------------------------------------------------------------

    def _arrive(self) -> None:
        server = self._network.server_at(self._address)
        if server is None:
            refused = failure(grpc.StatusCode.UNAVAILABLE, "connection refused")
            self._go_down(self._down.end, refused)
            return
        self._server = server
        context = server.process.context.copy()
        self._task = self._network.loop.create_task(self._serve(server), context=context)
        server.begin(self, self._broken, self._task)

    def _stop(self) -> None:
        server, task = self._server, self._task
        if server is not None and task is not None and server.process.is_alive:
            self._network.loop.call_soon(task.cancel, context=server.process.context)

    async def _serve(self, server: Server) -> None:
        handler = await server.handler(self._method)
        assert handler.response_serializer is not None
        context: Any = ServedContext(
            self._metadata, self._up.get, lambda wire: self._go_down(self._down.put, wire)
        )
        context.serialize_with(handler.response_serializer)
        end: _End = None
        try:
            assert handler.stream_stream is not None, "streams up alone are not used"
            nothing: Any = None
            await _answered(handler.stream_stream(nothing, context), context)
        except grpc.aio.AbortError:
            end = context.status
        except asyncio.CancelledError:
            end = failure(grpc.StatusCode.CANCELLED, "the server has cut it off")
            raise
        finally:
            server.end(self)
            self._go_down(self._down.end, end)


async def _answered(behaviour: Any, context: ServedContext) -> None:
    """Let a handler answer, whichever way it does."""
    if hasattr(behaviour, "__aiter__"):
        async for message in behaviour:
            await context.write(message)
    else:
        await behaviour
