"""What browsers are told of a failure: one object, whatever it was, and an HTTP status."""

from dataclasses import asdict
from typing import Final

import grpc

from okey_runtime.errors import RpcFailure, failure_of
from okey_runtime.unforeseen import status_for
from services.gateway.wire import Json

_Code = grpc.StatusCode
_HTTP_STATUS: Final = {
    _Code.INVALID_ARGUMENT: 400,
    _Code.UNAUTHENTICATED: 401,
    _Code.PERMISSION_DENIED: 403,
    _Code.NOT_FOUND: 404,
    _Code.ALREADY_EXISTS: 409,
    _Code.ABORTED: 409,
    _Code.FAILED_PRECONDITION: 409,
    _Code.RESOURCE_EXHAUSTED: 429,
    _Code.UNAVAILABLE: 503,
    _Code.DEADLINE_EXCEEDED: 504,
}
_OTHER: Final = 500


def failure_for(error: Exception) -> RpcFailure:
    """The failure that an error is for the player; one that nobody expected gets an id, under which
    the log tells it.

    A service's refusal is passed on as it is: the token that it judges is the player's own.
    """
    if isinstance(error, RpcFailure):
        return error
    return failure_of(status_for(error))


def error_object(failure: RpcFailure) -> Json:
    """The failure as JSON."""
    told: Json = {
        "code": failure.code.name,
        "reason": failure.reason,
        "message": failure.message,
        "metadata": failure.metadata,
    }
    if failure.retry_after_ms is not None:
        told["retry_after_ms"] = failure.retry_after_ms
    if failure.violations:
        told["violations"] = [asdict(each) for each in failure.violations]
    return told


def http_status(failure: RpcFailure) -> int:
    """The status of an HTTP answer that tells it."""
    return _HTTP_STATUS.get(failure.code, _OTHER)
