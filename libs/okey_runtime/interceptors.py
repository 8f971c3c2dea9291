"""What happens around every served call, outermost first: errors, metrics, identity and access, log
context, validation.

One interceptor does it all, because each further layer costs every message. Handlers must be
coroutines or async generators. What is called here a *call* is one RPC, of any of the four kinds.
"""

# gRPC's handler and context classes are generic to the type checker only.
from __future__ import annotations

import asyncio
import inspect
import secrets
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast

import grpc
import structlog
from google.protobuf.message import DecodeError, Message

from okey_runtime.access import AccessTable
from okey_runtime.auth import bearer_token
from okey_runtime.deadline import set_deadline
from okey_runtime.errors import (
    STATUS_DETAILS_KEY,
    MalformedRequest,
    internal_status,
    status_code,
    to_status,
)
from okey_runtime.identity import Identity, Role, set_current_identity
from okey_runtime.logging import get_logger
from okey_runtime.metrics import RPC_METRICS, MethodMetrics, RpcMetrics
from okey_runtime.trace import adopt_trace
from okey_runtime.validation import check_message

_log = get_logger(__name__)

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Streaming = TypeVar("Streaming", bound=Callable[..., Any])

_KIND: Final = {
    (False, False): "unary",
    (False, True): "server_stream",
    (True, False): "client_stream",
    (True, True): "bidi_stream",
}
_VALIDATES_ITSELF: Final = "_okey_validates_itself"
_CODE_NAMES: Final = {code.value[0]: code.name for code in grpc.StatusCode}


class Verifier(Protocol):
    """What tells from a token who calls; ``TokenVerifier`` is the one for production."""

    def verify(self, token: str) -> Identity:
        """The identity that the token proves, or an ``Unauthenticated`` error."""
        ...


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Puts the whole of this module around each method; ``access`` says who may call it.

    A malformed message ends its call, unless the method ``validates_itself``. A handler may answer
    with bytes that it has serialized before.
    """

    def __init__(
        self, verifier: Verifier, access: AccessTable, metrics: RpcMetrics = RPC_METRICS
    ) -> None:
        self._verifier = verifier
        self._access = access
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
        served = ServedMethod(
            method, self._verifier, self._access, self._metrics.of_method(kind, method)
        )
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


class ServedMethod:
    """One method of this server: what stands around each of its calls."""

    def __init__(
        self, name: str, verifier: Verifier, access: AccessTable, metrics: MethodMetrics
    ) -> None:
        self.name = name
        self.metrics = metrics
        self._verifier = verifier
        self._access = access
        self._is_public = access.is_public(name)

    def authenticate(self, context: Context) -> None:
        """Find out who calls, whether it may, and put it where the handler and the log find it."""
        metadata = context.invocation_metadata() or ()
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(method=self.name, trace_id=adopt_trace(metadata))
        identity = None
        if not self._is_public:
            token = bearer_token(metadata)
            identity = None if token is None else self._verifier.verify(token)
            self._access.check(self.name, identity)
        set_current_identity(identity)
        set_deadline(context.time_remaining())
        if identity is not None:
            name = "player_id" if Role.PLAYER in identity.roles else "caller"
            structlog.contextvars.bind_contextvars(**{name: identity.subject})


class _Call:
    """Around one call: leaving it maps errors to statuses and counts."""

    __slots__ = ("_context", "_method", "_started_s")

    def __init__(self, method: ServedMethod, context: Context) -> None:
        self._method = method
        self._context = context

    async def __aenter__(self) -> None:
        self._started_s = time.perf_counter()
        self._method.metrics.started.inc()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None or isinstance(error, grpc.aio.AbortError):
            self._count(_code_name(self._context.code()))
        elif isinstance(error, GeneratorExit) or _is_cancelled(error):
            self._count("CANCELLED")
        elif isinstance(error, Exception | asyncio.CancelledError):
            await self._refuse(error)

    async def _refuse(self, error: BaseException) -> None:
        """End the call with the error's status; always raises, as ``abort`` does."""
        status = to_status(error)
        if status is None:
            error_id = secrets.token_hex(8)
            status = internal_status(error_id)
            _log.error("unexpected_error", error_id=error_id, exc_info=error)
        code = status_code(status)
        self._count(code.name)
        await self._context.abort(
            code, status.message, ((STATUS_DETAILS_KEY, status.SerializeToString()),)
        )

    def _count(self, code: str) -> None:
        self._method.metrics.ended(code, time.perf_counter() - self._started_s)


def _is_cancelled(error: BaseException) -> bool:
    """Whether the call itself was cancelled (client gone, deadline, shutdown).

    A handler that lets the CancelledError of something else escape looks alike, but nobody would
    answer the client.
    """
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _code_name(code: object) -> str:
    if isinstance(code, grpc.StatusCode):
        return code.name
    return _CODE_NAMES.get(code, "UNKNOWN") if isinstance(code, int) else "OK"


def _answer(
    served: ServedMethod, take: Callable[[Any], Any], behaviour: Callable[[Any, Any], Any]
) -> Callable[[Any, Context], Awaitable[Any]]:
    async def answer(request: Any, context: Context) -> Any:
        async with _Call(served, context):
            served.authenticate(context)
            return await behaviour(take(request), context)

    return answer


def _stream(
    served: ServedMethod, take: Callable[[Any], Any], behaviour: Callable[[Any, Any], Any]
) -> Callable[[Any, Context], Any]:
    async def generate(request: Any, context: Context) -> AsyncIterator[Any]:
        async with _Call(served, context):
            served.authenticate(context)
            responses = behaviour(take(request), context)
            try:
                async for response in responses:
                    yield response
            finally:
                await responses.aclose()

    async def write(request: Any, context: Context) -> None:
        async with _Call(served, context):
            served.authenticate(context)
            await behaviour(take(request), context)

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
