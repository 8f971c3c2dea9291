from collections.abc import Mapping

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from okey.errors import (
    AlreadyExists,
    Exhausted,
    Forbidden,
    InvalidInput,
    NotFound,
    OkeyError,
    Refused,
    Unavailable,
)
from okey_runtime.errors import (
    STATUS_DETAILS_KEY,
    FieldViolation,
    InvalidField,
    RpcFailure,
    Unauthenticated,
    code_of,
    from_rpc_error,
    internal_status,
    status_code,
    to_status,
)

Code = grpc.StatusCode


class NotOwner(Unavailable):
    """An error with metadata."""

    reason = "NOT_OWNER"

    def __init__(self, address: str) -> None:
        super().__init__(f"table lives at {address}")
        self._address = address

    @property
    def metadata(self) -> Mapping[str, str]:
        return {"address": self._address}


class TooFast(Exhausted):
    """An error with a delay."""

    reason = "TOO_FAST"
    retry_after_ms = 1_500


def details(status: status_pb2.Status | None, kind: type) -> list[object]:
    assert status is not None
    found = []
    for packed in status.details:
        detail = kind()
        if packed.Unpack(detail):
            found.append(detail)
    return found


def received(status: status_pb2.Status) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(
        status_code(status),
        grpc.aio.Metadata(),
        grpc.aio.Metadata((STATUS_DETAILS_KEY, status.SerializeToString())),
        status.message,
    )


def bare(code: grpc.StatusCode, text: str) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), text)


@pytest.mark.parametrize(
    ("category", "code"),
    [
        (InvalidInput, Code.INVALID_ARGUMENT),
        (Refused, Code.FAILED_PRECONDITION),
        (NotFound, Code.NOT_FOUND),
        (Forbidden, Code.PERMISSION_DENIED),
        (AlreadyExists, Code.ALREADY_EXISTS),
        (Exhausted, Code.RESOURCE_EXHAUSTED),
        (Unavailable, Code.UNAVAILABLE),
        (Unauthenticated, Code.UNAUTHENTICATED),
        (OkeyError, Code.INTERNAL),
    ],
)
def test_each_category_has_its_status(category: type[OkeyError], code: grpc.StatusCode) -> None:
    assert code_of(category("text")) is code


def test_a_named_error_has_the_status_of_its_category() -> None:
    assert code_of(TooFast("slow down")) is Code.RESOURCE_EXHAUSTED


def test_a_named_error_tells_reason_and_message() -> None:
    status = to_status(Refused("seat 3 is taken: choose another"))
    assert status is not None
    assert status.message == "seat 3 is taken: choose another"
    (info,) = details(status, error_details_pb2.ErrorInfo)
    assert info == error_details_pb2.ErrorInfo(reason="REFUSED", domain="okey")


def test_an_error_survives_the_way_to_the_client() -> None:
    status = to_status(NotOwner("10.0.0.7:50051"))
    assert status is not None
    failure = from_rpc_error(received(status))
    assert (failure.code, failure.reason, failure.message, failure.metadata) == (
        Code.UNAVAILABLE,
        "NOT_OWNER",
        "table lives at 10.0.0.7:50051",
        {"address": "10.0.0.7:50051"},
    )


def test_a_malformed_request_tells_each_field() -> None:
    violations = (FieldViolation("stake", "7 is too low"), FieldViolation("seats", "3 is odd"))
    (bad_request,) = details(to_status(InvalidField(violations)), error_details_pb2.BadRequest)
    assert isinstance(bad_request, error_details_pb2.BadRequest)
    assert [(v.field, v.description) for v in bad_request.field_violations] == [
        ("stake", "7 is too low"),
        ("seats", "3 is odd"),
    ]
    assert str(InvalidField(violations)) == "stake: 7 is too low; seats: 3 is odd"


def test_a_limit_tells_when_to_try_again() -> None:
    (retry,) = details(to_status(TooFast("slow down")), error_details_pb2.RetryInfo)
    assert isinstance(retry, error_details_pb2.RetryInfo)
    assert retry.retry_delay.ToMilliseconds() == 1_500


def test_a_delay_that_another_service_asks_for_is_passed_on() -> None:
    failure = RpcFailure(grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_FAST", "slow down", {}, 1_500)
    (retry,) = details(to_status(failure), error_details_pb2.RetryInfo)
    assert isinstance(retry, error_details_pb2.RetryInfo)
    assert retry.retry_delay.ToMilliseconds() == 1_500


def test_a_status_always_fits_into_trailing_metadata() -> None:
    many = tuple(FieldViolation(f"field{n}", "x" * 120) for n in range(1_000))
    status = to_status(InvalidField(many))
    assert status is not None
    assert status.ByteSize() < 6_000


@pytest.mark.parametrize("error", [ValueError("secret"), KeyError("secret"), OkeyError("secret")])
def test_an_unexpected_error_is_not_for_the_caller(error: Exception) -> None:
    assert to_status(error) is None


def test_an_internal_error_tells_nothing_but_its_id() -> None:
    failure = from_rpc_error(received(internal_status("ab12")))
    assert failure.code is Code.INTERNAL
    assert failure.metadata == {"error_id": "ab12"}
    assert "ab12" in failure.message


def test_a_stream_that_ends_under_a_write_may_be_opened_again() -> None:
    """gRPC calls it INTERNAL, whatever the service is about to say or has died of."""
    failure = from_rpc_error(bare(Code.INTERNAL, "Internal error from Core"))
    assert (failure.code, failure.reason) == (Code.UNAVAILABLE, "")


@pytest.mark.parametrize(
    "code",
    [
        Code.INVALID_ARGUMENT,
        Code.FAILED_PRECONDITION,
        Code.NOT_FOUND,
        Code.ALREADY_EXISTS,
        Code.RESOURCE_EXHAUSTED,
        Code.UNAVAILABLE,
        Code.PERMISSION_DENIED,
    ],
)
def test_another_services_refusal_is_passed_on(code: grpc.StatusCode) -> None:
    status = to_status(RpcFailure(code, "SEAT_TAKEN", "seat 3 is taken", {"seat": "3"}))
    assert status is not None
    failure = from_rpc_error(received(status))
    assert (failure.code, failure.reason, failure.metadata) == (code, "SEAT_TAKEN", {"seat": "3"})


@pytest.mark.parametrize("code", [Code.UNAUTHENTICATED, Code.PERMISSION_DENIED, Code.INTERNAL])
def test_what_another_service_holds_against_us_is_not_passed_on(code: grpc.StatusCode) -> None:
    assert to_status(RpcFailure(code, "ROLE_REFUSED", "you are only lobby", {})) is None


def test_a_permission_refused_without_a_reason_of_ours_is_not_passed_on() -> None:
    assert to_status(RpcFailure(Code.PERMISSION_DENIED, "", "RBAC: access denied", {})) is None


def test_an_unreachable_service_is_named_without_its_address() -> None:
    status = to_status(bare(Code.UNAVAILABLE, "failed to connect to ipv4:10.0.0.7:50051"))
    assert status is not None
    failure = from_rpc_error(received(status))
    assert (failure.code, failure.reason) == (Code.UNAVAILABLE, "UPSTREAM_UNAVAILABLE")
    assert "10.0.0.7" not in failure.message


def test_a_failure_without_our_details_has_no_reason() -> None:
    failure = from_rpc_error(bare(Code.UNAVAILABLE, "connection refused"))
    assert (failure.code, failure.reason) == (Code.UNAVAILABLE, "")
    assert str(failure) == "UNAVAILABLE: connection refused"


def test_a_reason_of_another_domain_is_kept_and_not_taken_for_ours() -> None:
    """It goes on to our own caller with its domain; its text and metadata may hold addresses."""
    status = status_pb2.Status(code=Code.UNAVAILABLE.value[0], message="10.0.0.7 is full")
    foreign = error_details_pb2.ErrorInfo(reason="QUOTA", domain="acme.example")
    foreign.metadata["host"] = "10.0.0.7"
    status.details.add().Pack(foreign)
    failure = from_rpc_error(received(status))
    assert (failure.reason, failure.has_own_reason) == ("acme.example/QUOTA", False)
    passed_on = to_status(failure)
    assert passed_on is not None
    assert "10.0.0.7" not in str(passed_on)
    assert from_rpc_error(received(passed_on)).reason == "acme.example/QUOTA"


def test_our_own_reason_counts_beside_another_domains() -> None:
    status = status_pb2.Status(code=Code.UNAVAILABLE.value[0], message="x")
    for domain, reason in (("mesh", "A"), ("okey", "NOT_OWNER"), ("mesh", "B")):
        status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain=domain))
    failure = from_rpc_error(received(status))
    assert (failure.reason, failure.has_own_reason) == ("NOT_OWNER", True)


def test_refused_fields_reach_the_caller_of_the_caller() -> None:
    """As a browser's, whose call goes by the gateway."""
    refused = InvalidField((FieldViolation("stake", "at least 50, not 3"),))
    status = to_status(refused)
    assert status is not None
    failure = from_rpc_error(received(status))
    assert failure.violations == refused.violations
    passed_on = to_status(failure)
    assert passed_on is not None
    assert from_rpc_error(received(passed_on)).violations == refused.violations


def test_details_that_cannot_be_parsed_are_left_out() -> None:
    error = grpc.aio.AioRpcError(
        Code.UNAVAILABLE,
        grpc.aio.Metadata(),
        grpc.aio.Metadata((STATUS_DETAILS_KEY, b"\xff\xff")),
        "x",
    )
    assert from_rpc_error(error).reason == ""


def test_a_number_that_is_no_code_is_unknown() -> None:
    assert status_code(status_pb2.Status(code=99)) is Code.UNKNOWN
