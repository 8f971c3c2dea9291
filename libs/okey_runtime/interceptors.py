"""What happens around every served call, outermost first: errors, metrics, the operators' trail,
identity and access, log context, limits, validation.

One interceptor does it all, because each further layer costs every message. Handlers must be
coroutines or async generators. What is called here a *call* is one RPC, of any of the four kinds.
"""

# gRPC's handler and context classes are generic to the type checker only.
from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, Final, TypeAlias, TypeVar, cast

import grpc
from google.protobuf.message import DecodeError, Message

from okey_runtime.access import AccessTable
from okey_runtime.errors import MalformedRequest
from okey_runtime.limits import Gate
from okey_runtime.metrics import RPC_METRICS, RpcMetrics
from okey_runtime.served import Callers, Context, ServedCall, ServedMethod
from okey_runtime.validation import check_message

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Streaming = TypeVar("Streaming", bound=Callable[..., Any])

_KIND: Final = {
    (False, False): "unary",
    (False, True): "server_stream",
    (True, False): "client_stream",
    (True, True): "bidi_stream",
}
_VALIDATES_ITSELF: Final = "_okey_validates_itself"


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Puts the whole of this module around each method; ``access`` says who may call it.

    A malformed message ends its call, unless the method ``validates_itself``. A handler may answer
    with bytes that it has serialized before.
    """

    def __init__(
        self, callers: Callers, access: AccessTable, gate: Gate, metrics: RpcMetrics = RPC_METRICS
    ) -> None:
        self._callers = callers
        self._access = access
        self._gate = gate
        self._metrics = metrics
        self._wrapped: dict[str, tuple[Handler, Handler]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """The method's handler with everything around it; an unknown method stays unknown
        (UNIMPLEMENTED).
        """
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method = handler_call_details.method
        known = self._wrapped.get(method)
        if known is not None and known[0] is handler:
            return known[1]
        wrapped = self._wrap(method, handler)
        self._wrapped[method] = (handler, wrapped)
        return wrapped

    def _wrap(self, method: str, handler: Handler) -> Handler:
        kind = _KIND[bool(handler.request_streaming), bool(handler.response_streaming)]
        metrics = self._metrics.of_method(kind, method)
        served = ServedMethod(method, self._callers, self._access, self._gate, metrics)
        codec = {
            "request_deserializer": _reading(handler.request_deserializer),
            "response_serializer": _writing(handler.response_serializer),
        }
        take: Callable[[Any], Any] = _checked_once
        if handler.request_streaming:
            take = _unchecked if _validates_itself(handler) else _checked_each
        if handler.unary_unary is not None:
            return grpc.unary_unary_rpc_method_handler(
                _answer(served, take, handler.unary_unary), **codec
            )
        if handler.stream_unary is not None:
            return grpc.stream_unary_rpc_method_handler(
                _answer(served, take, handler.stream_unary), **codec
            )
        if handler.unary_stream is not None:
            return grpc.unary_stream_rpc_method_handler(
                _stream(served, take, handler.unary_stream), **codec
            )
        assert handler.stream_stream is not None, f"{method} has no handler"
        return grpc.stream_stream_rpc_method_handler(
            _stream(served, take, handler.stream_stream), **codec
        )


def _answer(
    served: ServedMethod, take: Callable[[Any], Any], behaviour: Callable[[Any, Any], Any]
) -> Callable[[Any, Context], Awaitable[Any]]:
    async def answer(request: Any, context: Context) -> Any:
        async with ServedCall(served, context, request) as call:
            call.authenticate()
            with served.gate.call:
                answer = behaviour(take(call.paced(request)), context)
                return await call.within(served.gate.limits.call_ms, answer)

    return answer


def _stream(
    served: ServedMethod, take: Callable[[Any], Any], behaviour: Callable[[Any, Any], Any]
) -> Callable[[Any, Context], Any]:
    async def generate(request: Any, context: Context) -> AsyncIterator[Any]:
        async with ServedCall(served, context, request) as call:
            with served.gate.stream(call.authenticate()):
                responses = behaviour(take(call.paced(request)), context)
                try:
                    async for response in responses:
                        yield response
                finally:
                    await responses.aclose()

    async def write(request: Any, context: Context) -> None:
        async with ServedCall(served, context, request) as call:
            with served.gate.stream(call.authenticate()):
                await behaviour(take(call.paced(request)), context)

    return generate if inspect.isasyncgenfunction(behaviour) else write


class _Unreadable:
    """What stands for a message whose bytes cannot be read, until the call is known that it ends.

    gRPC itself answers an error of the deserializer as UNKNOWN, without a reason.
    """

    __slots__ = ("length",)

    def __init__(self, length: int) -> None:
        self.length = length


def _reading(deserialize: Callable[[bytes], Any] | None) -> Callable[[bytes], Any] | None:
    """The handler's deserializer, with ``_Unreadable`` for what it cannot read."""
    if deserialize is None:
        return None

    def read(content: bytes) -> Any:
        try:
            return deserialize(content)
        except DecodeError:
            return _Unreadable(len(content))

    return read


def _writing(serialize: Callable[[Any], bytes] | None) -> Callable[[Any], bytes] | None:
    """The handler's serializer, for which bytes are a message that was serialized before."""
    if serialize is None:
        return None

    def write(response: Any) -> bytes:
        return response if type(response) is bytes else serialize(response)

    return write


def writes_itself(
    handler: Callable[[Any, Any, Any], Awaitable[None]],
) -> Callable[[Any, Any, Any], AsyncIterator[Any]]:
    """Marks a method that answers with a stream by ``context.write``, which costs each message less
    than an async generator does; only the type is another, since the stubs know no such methods.
    """
    return cast("Callable[[Any, Any, Any], AsyncIterator[Any]]", handler)


def validates_itself(handler: Streaming) -> Streaming:
    """Marks a method that takes a stream and answers malformed messages itself, with
    ``checked_message``.
    """
    handler.__dict__[_VALIDATES_ITSELF] = True
    return handler


def _validates_itself(handler: Handler) -> bool:
    behaviour = handler.stream_stream or handler.stream_unary
    return getattr(behaviour, _VALIDATES_ITSELF, False) is True


def checked_message(request: Any) -> Any:
    """A message of a stream, if it can be read and keeps the shape rules of its proto.

    Raises:
        MalformedRequest: its bytes are no such message.
        InvalidField: it breaks a rule.
    """
    return _checked_once(request)


def _read(request: Any) -> Any:
    if isinstance(request, _Unreadable):
        raise MalformedRequest(
            f"these {request.length} bytes are not the protobuf message that this method takes"
        )
    return request


def _checked_once(request: Any) -> Any:
    if isinstance(_read(request), Message):
        check_message(request)
    return request


def _unchecked(requests: AsyncIterable[Any]) -> AsyncIterable[Any]:
    return requests


async def _checked_each(requests: AsyncIterable[Any]) -> AsyncIterator[Any]:
    async for request in requests:
        yield _checked_once(request)
