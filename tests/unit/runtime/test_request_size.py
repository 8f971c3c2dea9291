"""A method's largest message follows from the limits of its fields."""

from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import ServiceDescriptor

from buf.validate import validate_pb2
from okey.api.bots.v1 import bots_pb2
from okey.api.engine.v1 import engine_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey_runtime.request_size import SizeUnbounded, largest, most_bytes, most_bytes_of, with_room
from tests.unit.test_access_tables import methods_of, proto_services

Field = descriptor_pb2.FieldDescriptorProto
DIGEST = validate_pb2.FieldRules(bytes=validate_pb2.BytesRules(len=32))
LARGE = {
    "/okey.api.bots.v1.BotService/ChooseAction",
    "/okey.api.engine.v1.OperatorService/ExportMoneyEvents",
    "/okey.api.engine.v1.TableService/GetDisplayNames",
    "/okey.api.rating.v1.RatingService/GetRatings",
    "/okey.api.wallet.v1.WalletService/AuditLedger",
}
"""A seat's whole view, and lists of ids."""


@pytest.mark.parametrize("service", list(proto_services()), ids=lambda each: each.full_name)
def test_every_request_has_a_largest_size_of_4_kib_but_for_lists(
    service: ServiceDescriptor,
) -> None:
    """A field without a limit fails here, by its name."""
    for method in methods_of(service):
        most = 80 << 10 if method in LARGE else 4 << 10
        assert 1_024 <= most_bytes(method) <= most, method


def _message(name: str, *fields: tuple[str, int, Any]) -> Any:
    """A message type with these fields: name, type, rules."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"okey/test/{name}.proto",
        package="okey.test",
        syntax="proto3",
        dependency=["buf/validate/validate.proto"],
    )
    message = file.message_type.add(name=name)
    for number, (field_name, kind, rules) in enumerate(fields, 1):
        is_list = isinstance(rules, validate_pb2.FieldRules) and rules.HasField("repeated")
        field = message.field.add(
            name=field_name, number=number, type=kind, label=3 if is_list else 1
        )
        if kind == Field.TYPE_MESSAGE:
            field.type_name = f".okey.test.{name}"
        if rules is not None:
            field.options.Extensions[validate_pb2.field].CopyFrom(rules)
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"okey.test.{name}"))


def _text(**rules: Any) -> Any:
    return validate_pb2.FieldRules(string=validate_pb2.StringRules(**rules))


def test_the_size_is_that_of_the_largest_message_to_the_byte() -> None:
    items = validate_pb2.RepeatedRules(
        max_items=300, items=_text(pattern="^[a-z0-9]{26}-[0-9]{1,9}$")
    )
    kind = _message(
        "Sized",
        ("name", Field.TYPE_STRING, _text(max_len=64)),
        ("id", Field.TYPE_STRING, _text(pattern="^(latest|[0-9]{0,18})$")),
        ("token_id", Field.TYPE_STRING, _text(pattern=r"^[\x21-\x7e]{1,128}$")),
        (
            "digest",
            Field.TYPE_BYTES,
            DIGEST,
        ),
        ("ids", Field.TYPE_STRING, validate_pb2.FieldRules(repeated=items)),
        ("amount", Field.TYPE_INT64, None),
        ("is_on", Field.TYPE_BOOL, None),
    )
    full = kind(
        name="𝄞" * 64,
        id="9" * 18,
        token_id="~" * 128,
        digest=bytes(32),
        ids=["a" * 26 + "-" + "1" * 9] * 300,
        amount=-1,
        is_on=True,
    )
    assert largest(kind.DESCRIPTOR) == full.ByteSize()


@pytest.mark.parametrize(
    ("name", "rules", "said"),
    [
        ("Endless", _text(min_len=1), "okey.test.Endless.field"),
        ("Starred", _text(pattern="^[a-z]+$"), "okey.test.Starred.field"),
        ("Wild", _text(pattern="^.{0,5}$"), "okey.test.Wild.field"),
        ("Loose", _text(pattern="[a-z]{5}"), "okey.test.Loose.field"),
        (
            "Listed",
            validate_pb2.FieldRules(repeated=validate_pb2.RepeatedRules(items=_text(max_len=5))),
            "okey.test.Listed.field has no max_items",
        ),
    ],
)
def test_a_field_without_a_limit_is_named(name: str, rules: Any, said: str) -> None:
    kind = _message(name, ("field", Field.TYPE_STRING, rules))
    with pytest.raises(SizeUnbounded, match=said):
        largest(kind.DESCRIPTOR)


def test_a_message_that_holds_itself_is_refused() -> None:
    kind = _message("Nested", ("field", Field.TYPE_MESSAGE, None))
    with pytest.raises(SizeUnbounded, match=r"okey\.test\.Nested holds itself"):
        largest(kind.DESCRIPTOR)


def test_newer_clients_have_room() -> None:
    """Of one KiB at least, and of half the message."""
    assert [with_room(known) for known in (0, 1, 1_024, 1_025, 10_240)] == [
        1_024,
        2_048,
        2_048,
        3_072,
        15_360,
    ]


@pytest.mark.parametrize(
    "request_of_ours",
    [
        engine_pb2.GetDisplayNamesRequest(player_ids=["p" * 64] * 200),
        wallet_pb2.GrantChipsRequest(reason="𝄞" * 500),
        bots_pb2.ChooseActionRequest(),
    ],
)
def test_full_messages_of_ours_fit(request_of_ours: Any) -> None:
    assert request_of_ours.ByteSize() <= largest(request_of_ours.DESCRIPTOR)


def test_health_and_reflection_take_a_name() -> None:
    assert most_bytes("/grpc.health.v1.Health/Check") == 4 << 10
    assert most_bytes_of([]) == 4 << 10


def test_a_server_takes_the_largest_of_its_methods() -> None:
    service = "okey.api.bots.v1.BotService"
    assert most_bytes_of([service]) == most_bytes(f"/{service}/ChooseAction")
