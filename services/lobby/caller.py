"""Who calls: what of the call's metadata goes on to the engine."""

from typing import Any

import grpc

from okey_runtime.service_token import AUTHORIZATION

Context = grpc.aio.ServicerContext[Any, Any]


def authorization_of(context: Context) -> str:
    """The caller's own ``authorization`` metadata; the call was let in, so it is there."""
    for key, value in context.invocation_metadata() or ():
        if key == AUTHORIZATION and isinstance(value, str):
            return value
    raise LookupError("an authenticated call carries 'authorization' metadata")
