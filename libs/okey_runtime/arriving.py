"""Calls whose message has not come yet: each waits for so long, and so many wait together.

gRPC serves a call from its headers on and waits for the message without an end, before anything of
ours runs; a client that never sends one would hold what the call costs for as long as it likes.
Here the message is read by ourselves. What waits longest goes first where too many wait: the
message of an honest call comes right behind its headers.
"""

# gRPC's handler and context classes are generic to the type checker only.
from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final, NoReturn, TypeAlias

import grpc

from okey.errors import OkeyError
from okey_runtime.aborting import abort_with
from okey_runtime.errors import MalformedRequest, to_status
from okey_runtime.limits import Limited

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Take: TypeAlias = "Callable[[Context], Awaitable[Any]]"

_MOST: Final = 2_000
_RETRY_MS: Final = 1_000


class RequestNotSent(Limited):
    """A call's message did not come in time, or was not there yet when too many were waited for."""

    reason = "REQUEST_NOT_SENT"


class Arrivals:
    """Waits for messages: at most ``within_ms`` for each, at most ``most`` at once."""

    def __init__(self, within_ms: int, most: int = _MOST) -> None:
        self._within_ms = within_ms
        self._most = most
        self._waiting: dict[asyncio.Timeout, None] = {}

    async def of(self, message: Awaitable[Any]) -> Any:
        """The message once it is there. Raises ``RequestNotSent``."""
        limit = asyncio.timeout(self._within_ms / 1_000)
        try:
            async with limit:
                self._waiting[limit] = None
                if len(self._waiting) > self._most:
                    self._end_the_oldest()
                try:
                    return await message
                finally:
                    self._waiting.pop(limit, None)
        except TimeoutError:
            if not limit.expired():
                raise
            raise RequestNotSent(
                f"the call's message was not sent within {self._within_ms} ms, or more than "
                f"{self._most} calls wait for theirs: send it with the call",
                _RETRY_MS,
            ) from None

    async def first_of(self, read: Callable[[], Awaitable[Any]]) -> AsyncIterator[Any]:
        """The messages of a stream up to EOF, of which the first is waited for like that."""
        message = await self.of(read())
        while message is not grpc.aio.EOF:
            yield message
            message = await read()

    def _end_the_oldest(self) -> None:
        oldest = next(iter(self._waiting))
        del self._waiting[oldest]
        oldest.reschedule(0)


class ArrivalInterceptor(grpc.aio.ServerInterceptor):
    """The outermost of a server's interceptors: those within see only calls that have a message."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._wrapped: dict[str, tuple[Handler, Handler]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """The method's handler, as one that takes a stream: on the wire there is no difference."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method = handler_call_details.method
        known = self._wrapped.get(method)
        if known is not None and known[0] is handler:
            return known[1]
        wrapped = self._wrap(handler)
        self._wrapped[method] = (handler, wrapped)
        return wrapped

    def _wrap(self, handler: Handler) -> Handler:
        codec = {
            "request_deserializer": handler.request_deserializer,
            "response_serializer": handler.response_serializer,
        }
        take = self._each if handler.request_streaming else self._only
        if handler.response_streaming:
            behaviour: Any = handler.stream_stream or handler.unary_stream
            return grpc.stream_stream_rpc_method_handler(_stream(take, behaviour), **codec)
        behaviour = handler.stream_unary or handler.unary_unary
        return grpc.stream_unary_rpc_method_handler(_answer(take, behaviour), **codec)

    async def _each(self, context: Context) -> AsyncIterator[Any]:
        """What a handler is given that takes a stream."""
        # Not gRPC's own iterator: one that is left half-read keeps itself, and the call with it.
        return self._arrivals.first_of(context.read)

    async def _only(self, context: Context) -> Any:
        """The one message of a call; without it the call is refused."""
        try:
            message = await self._arrivals.of(context.read())
        except RequestNotSent as error:
            await _refuse(context, error)
        if message is grpc.aio.EOF:
            await _refuse(context, MalformedRequest("the call was sent without its message"))
        return message


def _answer(take: Take, behaviour: Callable[[Any, Any], Awaitable[Any]]) -> Callable[..., Any]:
    async def answer(_: object, context: Context) -> Any:
        return await behaviour(await take(context), context)

    return answer


def _stream(take: Take, behaviour: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    async def generate(_: object, context: Context) -> AsyncIterator[Any]:
        async with aclosing(behaviour(await take(context), context)) as responses:
            async for response in responses:
                yield response

    async def write(_: object, context: Context) -> None:
        await behaviour(await take(context), context)

    return generate if inspect.isasyncgenfunction(behaviour) else write


async def _refuse(context: Context, error: OkeyError) -> NoReturn:
    """End the call, which nobody within has seen; always raises, as ``abort`` does."""
    status = to_status(error)
    assert status is not None, f"{error!r} is told to callers"
    await abort_with(context, status)
