"""Ending a call with a status, so that nothing of the call is left."""

# gRPC's context class is generic to the type checker only.
from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final, NoReturn, TypeAlias

import grpc
from google.rpc import status_pb2

from okey_runtime.errors import STATUS_DETAILS_KEY, status_code

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

_READ_WITHIN_S: Final = 1.0
"""How long a call is kept for its caller to take the status."""


async def abort_with(context: Context, status: status_pb2.Status) -> NoReturn:
    """End the call with the status; always raises."""
    details = ((STATUS_DETAILS_KEY, status.SerializeToString()),)
    await abort(context, status_code(status), status.message, details)


async def abort(
    context: Context, code: grpc.StatusCode, message: str, trailing: tuple[tuple[str, bytes], ...]
) -> NoReturn:
    """What gRPC's own ``abort`` does; always raises, also where there is nobody to tell any more or
    the call has been aborted before.

    The context keeps the error that it raises, whose traceback keeps every frame up to the handler,
    and those keep the context. Only the collector would find that circle, which looks seldom; until
    then gRPC counts the call as open, and refuses others on the same connection once there are as
    many as it takes.
    """
    try:
        if not context.done():
            # The caller has gone meanwhile; or it does not read, and is told once it does.
            with suppress(grpc.aio.InternalError, TimeoutError):
                async with asyncio.timeout(_READ_WITHIN_S):
                    await context.abort(code, message, trailing)
        # An aborted call answers whatever is asked of it with the error of its abort, and gRPC
        # wants to see that very one.
        await context.send_initial_metadata(())
    except grpc.aio.AbortError as aborted:
        # Once it has gone through all of them.
        asyncio.get_running_loop().call_soon(_let_go, aborted)
        raise
    raise AssertionError("an abort always raises")


def _let_go(aborted: BaseException) -> None:
    aborted.__traceback__ = aborted.__context__ = aborted.__cause__ = None
