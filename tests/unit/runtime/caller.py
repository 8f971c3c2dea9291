"""A client of the echo service that gives answers as text and failures as ``RpcFailure``."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc

from okey_runtime.errors import RpcFailure, from_rpc_error
from tests.unit.runtime.echo import (
    BIDI,
    CLIENT_STREAM,
    LENIENT,
    SERVER_STREAM,
    UNARY,
    UNLISTED,
    UNSERVED,
    WRITER,
    ask,
    methods,
)

_TAKE_STREAMS = (CLIENT_STREAM, BIDI, LENIENT)

Metadata = Sequence[tuple[str, str]]

KINDS = (UNARY, SERVER_STREAM, WRITER, CLIENT_STREAM, BIDI)


class Caller:
    """Calls any method of the echo service over one channel."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self._methods = methods(channel)

    def begin(
        self,
        method: str,
        *requests: Any,
        timeout_s: float | None = 10,
        metadata: Metadata | None = None,
    ) -> Any:
        """The call object, begun and not awaited."""
        said = iter(requests) if method in _TAKE_STREAMS else requests[0]
        return self._methods[method](said, timeout=timeout_s, metadata=metadata)

    async def call(
        self,
        method: str,
        *requests: Any,
        timeout_s: float | None = 10,
        metadata: Metadata | None = None,
    ) -> list[str]:
        """All answers in order."""
        begun = self.begin(method, *requests, timeout_s=timeout_s, metadata=metadata)
        return await self._answers(method, begun)

    async def _answers(self, method: str, call: Any) -> list[str]:
        try:
            if method in (UNARY, UNLISTED, UNSERVED, CLIENT_STREAM):
                return [(await call).what]
            return [answer.what async for answer in call]
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error

    async def failure(
        self, method: str, *requests: Any, timeout_s: float | None = 10
    ) -> RpcFailure:
        """How the call fails; it is an error of the test if it does not."""
        try:
            answers = await self.call(method, *requests, timeout_s=timeout_s)
        except RpcFailure as failure:
            return failure
        raise AssertionError(f"{method} did not fail but answered {answers}")

    async def refusal(self, method: str) -> RpcFailure:
        """How a call fails that may not be made.

        A stream says nothing: gRPC tells of a write that its refusal has overtaken as of a break.
        """
        if method not in _TAKE_STREAMS:
            return await self.failure(method, ask())
        over = asyncio.Event()
        try:
            answers = await self._answers(method, self._methods[method](_nothing(over), timeout=10))
        except RpcFailure as failure:
            return failure
        finally:
            over.set()
        raise AssertionError(f"{method} was not refused but answered {answers}")


async def _nothing(over: asyncio.Event) -> AsyncIterator[Any]:
    """No requests, until it is over."""
    await over.wait()
    requests: tuple[Any, ...] = ()
    for request in requests:
        yield request


__all__ = ["KINDS", "Caller", "ask"]
