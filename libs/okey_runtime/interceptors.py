"""What happens around every served call, outermost first: errors, metrics, the operators' trail,
identity and access, log context, limits; only then its messages are read, their size is checked,
and they are parsed and validated.

One interceptor does it all, because each further layer costs every message. Handlers must be
coroutines or async generators. What is called here a *call* is one RPC, of any of the four kinds.
"""

# gRPC's handler and context classes are generic to the type checker only.
from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, nullcontext
from typing import Any, Final, TypeAlias, TypeVar, cast

import grpc
from google.protobuf import descriptor_pool

from okey_runtime.access import AccessTable
from okey_runtime.arriving import Arrivals
from okey_runtime.limits import Gate
from okey_runtime.metrics import RPC_METRICS, RpcMetrics
from okey_runtime.request_size import most_bytes
from okey_runtime.requests import Requests, checked_message
from okey_runtime.revocation import Revocations
from okey_runtime.served import Callers, Context, ServedCall, ServedMethod
from okey_runtime.unread import UNREAD_FOR_S, Cut

__all__ = [
    "CallInterceptor",
    "checked_message",
    "ends_itself",
    "validates_itself",
    "writes_itself",
]

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Behaviour: TypeAlias = Callable[[Any, Any], Any]
Take: TypeAlias = Callable[[ServedCall], Awaitable[Any]]
Streaming = TypeVar("Streaming", bound=Callable[..., Any])

_KIND: Final = {
    (False, False): "unary",
    (False, True): "server_stream",
    (True, False): "client_stream",
    (True, True): "bidi_stream",
}
_VALIDATES_ITSELF: Final = "_okey_validates_itself"
_ENDS_ITSELF: Final = "_okey_ends_itself"


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Puts the whole of this module around each method; ``access`` says who may call it.

    A malformed message ends its call, unless the method ``validates_itself``. A handler may answer
    with bytes that it has serialized before.
    """

    def __init__(
        self,
        callers: Callers,
        access: AccessTable,
        gate: Gate,
        arrivals: Arrivals,
        revocations: Revocations,
        metrics: RpcMetrics = RPC_METRICS,
    ) -> None:
        self._revocations = revocations
        self._callers = callers
        self._access = access
        self._gate = gate
        self._arrivals = arrivals
        self._metrics = metrics
        self._wrapped: dict[str, tuple[Handler, Handler]] = {}
        for method in access.rules():
            kind = _kind_of(method)
            if kind is not None:
                # There before its first call, so that a first failure is an increase.
                metrics.of_method(kind, method)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """The method's handler with everything around it, as one that takes a stream of bytes: on
        the wire there is no difference. An unknown method stays unknown (UNIMPLEMENTED).
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
        served = ServedMethod(
            method,
            Requests(
                most_bytes(method),
                handler.request_deserializer,
                method_checks=_validates_itself(handler),
            ),
            self._arrivals,
            self._callers,
            self._access,
            self._gate,
            self._metrics.of_method(kind, method),
            self._revocations,
        )
        take = _each if handler.request_streaming else ServedCall.message
        write = _writing(handler.response_serializer)
        if handler.response_streaming:
            behaviour: Any = handler.stream_stream or handler.unary_stream
            return grpc.stream_stream_rpc_method_handler(
                _stream(served, take, behaviour), response_serializer=write
            )
        behaviour = handler.stream_unary or handler.unary_unary
        return grpc.stream_unary_rpc_method_handler(
            _answer(served, take, behaviour), response_serializer=write
        )


def _kind_of(method: str) -> str | None:
    """How a method streams, by its proto; None where there is none."""
    _, service, name = method.split("/")
    try:
        found = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    except KeyError:
        return None
    return _KIND[found.client_streaming, found.server_streaming]


async def _each(call: ServedCall) -> AsyncIterator[Any]:
    """What a handler is given that takes a stream."""
    return call.messages()


def _answer(served: ServedMethod, take: Take, behaviour: Behaviour) -> Behaviour:
    async def answer(_: object, context: Context) -> Any:
        async with ServedCall(served, context) as call:
            call.authenticate()
            request = await take(call)
            with served.gate.call:
                return await call.within(served.gate.limits.call_ms, behaviour(request, context))

    return answer


def _stream(served: ServedMethod, take: Take, behaviour: Behaviour) -> Behaviour:
    generates = inspect.isasyncgenfunction(behaviour)
    ends = not _is_marked(behaviour, _ENDS_ITSELF)

    async def respond(call: ServedCall, context: Context, cut: Cut) -> None:
        request = await take(call)
        if not generates:
            await behaviour(request, context)
            return
        async with aclosing(behaviour(request, context)) as responses:
            async for response in responses:
                with cut.unread_for(UNREAD_FOR_S):
                    await context.write(response)

    async def write(_: object, context: Context) -> None:
        async with ServedCall(served, context) as call:
            caller = call.authenticate()
            cut = Cut()
            until_end = served.until_end(caller, cut.now) if ends else nullcontext()
            with served.gate.stream(caller, call.host), cut.telling(), until_end:
                await respond(call, context, cut)

    return write


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


def ends_itself(handler: Streaming) -> Streaming:
    """Marks a method that ends its streams itself when the caller's token ends, in an order of its
    own. Every other stream is ended with that reason as its status.
    """
    handler.__dict__[_ENDS_ITSELF] = True
    return handler


def _validates_itself(handler: Handler) -> bool:
    return _is_marked(handler.stream_stream or handler.stream_unary, _VALIDATES_ITSELF)


def _is_marked(behaviour: object, mark: str) -> bool:
    return getattr(behaviour, mark, False) is True
