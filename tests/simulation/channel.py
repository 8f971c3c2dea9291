"""What stubs are made with instead of a gRPC channel."""

import asyncio
from collections.abc import Callable, Generator
from typing import Any, Final

import grpc

from tests.simulation.network import Exchange, Metadata, Network, failure
from tests.simulation.streams import Stream

_KEEPALIVE_S: Final = 25.0
"""After so long without an answer the connection is taken for dead."""


class Channel:
    """What stubs are made with instead of a gRPC channel."""

    def __init__(self, network: Network, address: str, metadata: Metadata = ()) -> None:
        self._network = network
        self._address = address
        self._metadata = metadata

    def unary_unary(self, method: str, **how: Any) -> Callable[..., Any]:
        """A method of one request and one answer."""
        return _Unary(self._network, self._address, self._metadata, method, how)

    def unary_stream(self, method: str, **how: Any) -> Callable[..., Any]:
        """A method of one request and many answers."""

        def call(request: Any, *, metadata: Metadata = (), **_: Any) -> Stream:
            stream = self._stream(method, metadata, how)
            stream.send_only(request)
            return stream

        return call

    def stream_stream(self, method: str, **how: Any) -> Callable[..., Any]:
        """A method with streams in both directions."""

        def call(*, metadata: Metadata = (), **_: Any) -> Stream:
            return self._stream(method, metadata, how)

        return call

    def stream_unary(self, method: str, **how: Any) -> Callable[..., Any]:
        """No service has such a method."""
        raise NotImplementedError(method)

    async def close(self, grace: float | None = None) -> None:
        """Nothing is kept open."""

    def _stream(self, method: str, metadata: Metadata, how: dict[str, Any]) -> Stream:
        return Stream(
            self._network,
            self._address,
            method,
            (*self._metadata, *metadata),
            how["request_serializer"],
            how.get("response_deserializer"),
        )


class _Unary:
    """One method of a stub."""

    def __init__(
        self, network: Network, address: str, metadata: Metadata, method: str, how: dict[str, Any]
    ) -> None:
        self._network = network
        self._address = address
        self._metadata = metadata
        self._method = method
        self._serialize: Callable[[Any], bytes] = how["request_serializer"]
        self._deserialize: Callable[[bytes], Any] = how["response_deserializer"]

    def __call__(
        self, request: Any, *, timeout: float | None = None, metadata: Metadata = (), **_: Any
    ) -> "_UnaryCall":
        exchange = Exchange(
            self._network,
            self._address,
            self._method,
            self._serialize(request),
            (*self._metadata, *metadata),
        )
        return _UnaryCall(exchange, self._deserialize, timeout)


class _UnaryCall:
    """A call that was made; awaited it gives the answer, or raises ``AioRpcError``."""

    def __init__(
        self, exchange: Exchange, deserialize: Callable[[bytes], Any], timeout_s: float | None
    ) -> None:
        self._exchange = exchange
        self._deserialize = deserialize
        self._timeout_s = timeout_s
        exchange.send()

    def __await__(self) -> Generator[Any, None, Any]:
        return self._outcome().__await__()

    async def _outcome(self) -> Any:
        try:
            async with asyncio.timeout(min(self._timeout_s or _KEEPALIVE_S, _KEEPALIVE_S)):
                return self._deserialize(await self._exchange.answer)
        except TimeoutError:
            if self._timeout_s is None or self._timeout_s > _KEEPALIVE_S:
                raise failure(grpc.StatusCode.UNAVAILABLE, "keepalive timed out") from None
            raise failure(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded") from None
        finally:
            self._exchange.over()
