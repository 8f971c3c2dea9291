"""A client of the echo service that gives answers as text and failures as ``RpcFailure``."""

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

KINDS = (UNARY, SERVER_STREAM, WRITER, CLIENT_STREAM, BIDI)


class Caller:
    """Calls any method of the echo service over one channel."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self._methods = methods(channel)

    def begin(self, method: str, *requests: Any, timeout_s: float | None = 10) -> Any:
        """The call object, begun and not awaited."""
        takes_stream = method in (CLIENT_STREAM, BIDI, LENIENT)
        return self._methods[method](
            iter(requests) if takes_stream else requests[0], timeout=timeout_s
        )

    async def call(self, method: str, *requests: Any, timeout_s: float | None = 10) -> list[str]:
        """All answers in order."""
        call = self.begin(method, *requests, timeout_s=timeout_s)
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


__all__ = ["KINDS", "Caller", "ask"]
