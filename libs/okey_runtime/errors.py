"""The one place where named errors become gRPC statuses, and statuses become errors again.

Every refusal carries ``google.rpc.Status`` details: ``ErrorInfo`` with a stable reason, for
malformed requests also ``BadRequest`` with the fields, for limits also ``RetryInfo``.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import grpc
from google.protobuf import any_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from okey import errors as okey_errors
from okey.errors import InvalidInput, OkeyError

DOMAIN: Final = "okey"
_OF_DOMAIN: Final = "/"
"""Parts a foreign domain from its reason."""
STATUS_DETAILS_KEY: Final = "grpc-status-details-bin"

ROLE_REFUSED: Final = "ROLE_REFUSED"
"""The reason when a caller's roles do not reach to a method."""

# What gRPC makes up where a stream ends before its status has come; no service of ours says it.
_BROKEN_WRITE: Final = (grpc.StatusCode.INTERNAL, "Internal error from Core")

# Trailing metadata is limited to 8 KiB by most peers; a longer status would arrive as
# RESOURCE_EXHAUSTED.
_MAX_MESSAGE_CHARS: Final = 1_000
MOST_VIOLATIONS: Final = 8
_MOST_REASONS: Final = 500
"""Reasons whose details are kept packed; there are about 200."""


class Unauthenticated(OkeyError):
    """The caller has not shown who it is; get a token and call again (UNAUTHENTICATED)."""

    reason = "UNAUTHENTICATED"


class TokenInvalid(Unauthenticated):
    """The token is not one that a trusted issuer has made for this platform; the message never
    quotes it.
    """

    reason = "TOKEN_INVALID"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One field of a request that breaks a shape rule of the protos."""

    field: str
    description: str


class InvalidField(InvalidInput):
    """A request breaks shape rules of its proto; the message names each field and its value."""

    reason = "INVALID_FIELD"

    def __init__(self, violations: tuple[FieldViolation, ...]) -> None:
        super().__init__(
            "; ".join(f"{v.field}: {v.description}" for v in violations[:MOST_VIOLATIONS])
        )
        self.violations = violations


class MalformedRequest(InvalidInput):
    """The bytes of a request are not the protobuf message that the method takes."""

    reason = "MALFORMED_REQUEST"


class RpcFailure(Exception):
    """A call to another service that failed, with the reason that service gave ("" if it gave
    none), when another try makes sense, if it said so, and the fields that it refused.

    A reason of another domain than ours is written as ``domain/REASON``, so it is never taken for
    one of ours.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        reason: str,
        message: str,
        metadata: Mapping[str, str],
        retry_after_ms: int | None = None,
        violations: Iterable[FieldViolation] = (),
    ) -> None:
        super().__init__(
            f"{code.name} {reason}: {message}" if reason else f"{code.name}: {message}"
        )
        self.code = code
        self.reason = reason
        self.message = message
        self.metadata = dict(metadata)
        self.retry_after_ms = retry_after_ms
        self.violations = tuple(violations)

    @property
    def has_own_reason(self) -> bool:
        """Whether one of our services said why."""
        return self.reason != "" and _OF_DOMAIN not in self.reason


_CODE_BY_CATEGORY: Final[tuple[tuple[type[OkeyError], grpc.StatusCode], ...]] = (
    (Unauthenticated, grpc.StatusCode.UNAUTHENTICATED),
    (okey_errors.InvalidInput, grpc.StatusCode.INVALID_ARGUMENT),
    (okey_errors.Refused, grpc.StatusCode.FAILED_PRECONDITION),
    (okey_errors.NotFound, grpc.StatusCode.NOT_FOUND),
    (okey_errors.Forbidden, grpc.StatusCode.PERMISSION_DENIED),
    (okey_errors.AlreadyExists, grpc.StatusCode.ALREADY_EXISTS),
    (okey_errors.Exhausted, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (okey_errors.Unavailable, grpc.StatusCode.UNAVAILABLE),
)

# What another service's refusal may mean to our own caller. Missing here: UNAUTHENTICATED, which
# would be about our own token, and INTERNAL and its like, which are ours to explain.
_PASSED_ON: Final = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    }
)

_CODE_BY_NUMBER: Final = {code.value[0]: code for code in grpc.StatusCode}


def code_of(error: OkeyError) -> grpc.StatusCode:
    """The gRPC status of a named error's category; INTERNAL for an error outside every category."""
    for category, code in _CODE_BY_CATEGORY:
        if isinstance(error, category):
            return code
    return grpc.StatusCode.INTERNAL


def to_status(error: BaseException) -> status_pb2.Status | None:
    """What the caller is told about an error, or None where it must not be told (then it is
    INTERNAL with an id).
    """
    if isinstance(error, grpc.aio.AioRpcError):
        error = from_rpc_error(error)
    if isinstance(error, RpcFailure) and _is_passed_on(error):
        return _passed_on(error)
    if not isinstance(error, OkeyError) or code_of(error) is grpc.StatusCode.INTERNAL:
        return None
    status = _status(code_of(error), error.reason, str(error), error.metadata)
    if isinstance(error, InvalidField):
        _add_violations(status, error.violations)
    if error.retry_after_ms is not None:
        _add_retry_info(status, error.retry_after_ms)
    return status


def _is_passed_on(failure: RpcFailure) -> bool:
    """Whether another service's refusal means something to our own caller; a permission does where
    it is named, as NOT_SEATED is, and not where our own role was refused.
    """
    if failure.code is grpc.StatusCode.PERMISSION_DENIED:
        return failure.has_own_reason and failure.reason != ROLE_REFUSED
    return failure.code in _PASSED_ON


def _passed_on(failure: RpcFailure) -> status_pb2.Status:
    """What our own caller is told of another service's refusal."""
    if failure.has_own_reason:
        status = _status(failure.code, failure.reason, failure.message, failure.metadata)
    else:
        # Without our own details it may hold addresses or library text: only the reason goes on.
        domain, _, reason = failure.reason.rpartition(_OF_DOMAIN)
        reason = reason or f"UPSTREAM_{failure.code.name}"
        message = "a service this one depends on did not answer; try again"
        status = _status(failure.code, reason, message, {}, domain or DOMAIN)
    if failure.violations:
        _add_violations(status, failure.violations)
    if failure.retry_after_ms is not None:
        _add_retry_info(status, failure.retry_after_ms)
    return status


def internal_status(error_id: str) -> status_pb2.Status:
    """What a caller learns of an unexpected error: that there was one, and the id under which the
    log tells it.
    """
    return _status(
        grpc.StatusCode.INTERNAL,
        "INTERNAL",
        f"unexpected error {error_id}: report this id to the operators",
        {"error_id": error_id},
    )


def status_code(status: status_pb2.Status) -> grpc.StatusCode:
    """The gRPC code of a status message; UNKNOWN for a number that gRPC does not define."""
    return _CODE_BY_NUMBER.get(status.code, grpc.StatusCode.UNKNOWN)


def reason_of(status: status_pb2.Status) -> str:
    """The reason that a status of ours tells; "" if it tells none."""
    info = error_details_pb2.ErrorInfo()
    return next((info.reason for detail in status.details if detail.Unpack(info)), "")


def from_rpc_error(error: grpc.aio.AioRpcError) -> RpcFailure:
    """The failure of a call, with reason and metadata from its ``ErrorInfo`` and the delay of its
    ``RetryInfo`` where the service sent them.

    A write to a stream that has just ended is UNAVAILABLE: nobody knows why it ended, and the next
    stream tells.
    """
    if (error.code(), error.details()) == _BROKEN_WRITE:
        message = "the stream ended while it was written to; open another one"
        return RpcFailure(grpc.StatusCode.UNAVAILABLE, "", message, {})
    for key, value in error.trailing_metadata() or ():
        if key == STATUS_DETAILS_KEY and isinstance(value, bytes):
            # What is no status was not written by one of our services; code and text still tell.
            with suppress(DecodeError):
                details = status_pb2.Status.FromString(value).details
                return _failure(error.code(), error.details() or "", details)
    return RpcFailure(error.code(), "", error.details() or "", {})


def failure_of(status: status_pb2.Status) -> RpcFailure:
    """The failure that a status of ours tells of, such as that of one command of a stream."""
    return _failure(status_code(status), status.message, status.details)


def _failure(code: grpc.StatusCode, message: str, details: Iterable[Any]) -> RpcFailure:
    reason, metadata, retry_after_ms = "", dict[str, str](), None
    violations: list[FieldViolation] = []
    for detail in details:
        info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        bad_request = error_details_pb2.BadRequest()
        if detail.Unpack(info):
            if info.domain == DOMAIN:
                reason, metadata = info.reason, dict(info.metadata)
            elif not reason:
                reason = f"{info.domain}{_OF_DOMAIN}{info.reason}"
        elif detail.Unpack(retry):
            retry_after_ms = retry.retry_delay.ToMilliseconds()
        elif detail.Unpack(bad_request):
            fields = bad_request.field_violations
            violations += (FieldViolation(each.field, each.description) for each in fields)
    return RpcFailure(code, reason, message, metadata, retry_after_ms, violations)


def _add_violations(status: status_pb2.Status, violations: Sequence[FieldViolation]) -> None:
    bad_request = error_details_pb2.BadRequest()
    for violation in violations[:MOST_VIOLATIONS]:
        bad_request.field_violations.add(field=violation.field, description=violation.description)
    status.details.add().Pack(bad_request)


def _add_retry_info(status: status_pb2.Status, retry_after_ms: int) -> None:
    delay = Duration()
    delay.FromMilliseconds(retry_after_ms)
    status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=delay))


def _status(
    code: grpc.StatusCode,
    reason: str,
    message: str,
    metadata: Mapping[str, str],
    domain: str = DOMAIN,
) -> status_pb2.Status:
    info = _packed_info(reason, domain, metadata) if metadata else _info_alone(reason, domain)
    return status_pb2.Status(
        code=code.value[0], message=message[:_MAX_MESSAGE_CHARS], details=[info]
    )


@lru_cache(maxsize=_MOST_REASONS)
def _info_alone(reason: str, domain: str) -> any_pb2.Any:
    """An ``ErrorInfo`` without metadata, packed once for all refusals of that reason."""
    return _packed_info(reason, domain, {})


def _packed_info(reason: str, domain: str, metadata: Mapping[str, str]) -> any_pb2.Any:
    info = any_pb2.Any()
    info.Pack(error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata=metadata))
    return info
