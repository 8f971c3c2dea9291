import pytest
from buf.validate import validate_pb2
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from okey_runtime.errors import FieldViolation, InvalidField
from okey_runtime.validation import check_message

from tests.unit.runtime.echo import ask

INT64, STRING, MESSAGE, OPTIONAL, REPEATED = 3, 9, 11, 1, 3


def _basket() -> type:
    """A message of messages: ``apples`` (1 to 3 of weight 50 and more), a ``label``, a ``lid``."""
    file = descriptor_pb2.FileDescriptorProto(
        name="okey/test/basket.proto",
        package="okey.test",
        syntax="proto3",
        dependency=["buf/validate/validate.proto"],
    )
    apple = file.message_type.add(name="Apple")
    weight = apple.field.add(name="weight", number=1, type=INT64, label=OPTIONAL)
    weight.options.Extensions[validate_pb2.field].int64.gte = 50
    basket = file.message_type.add(name="Basket")
    apples = basket.field.add(
        name="apples", number=1, type=MESSAGE, label=REPEATED, type_name=".okey.test.Apple"
    )
    apples.options.Extensions[validate_pb2.field].repeated.max_items = 3
    label = basket.field.add(name="label", number=2, type=STRING, label=OPTIONAL)
    label.options.Extensions[validate_pb2.field].string.max_len = 5
    lid = basket.field.add(
        name="lid", number=3, type=MESSAGE, label=OPTIONAL, type_name=".okey.test.Apple"
    )
    lid.options.Extensions[validate_pb2.field].required = True
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("okey.test.Basket"))


Basket = _basket()
LID = {"weight": 50}


def violations(**fields: object) -> tuple[FieldViolation, ...]:
    with pytest.raises(InvalidField) as refused:
        check_message(Basket(**fields))
    return refused.value.violations


def test_a_message_that_keeps_its_rules_passes() -> None:
    check_message(Basket(apples=[{"weight": 50}], label="green", lid=LID))
    check_message(ask())


def test_a_field_of_a_repeated_message_is_named_with_its_place() -> None:
    (violation,) = violations(apples=[{"weight": 50}, {"weight": 7}], lid=LID)
    assert violation.field == "apples[1].weight"
    assert violation.description == "7 must be greater than or equal to 50"


def test_every_field_that_breaks_a_rule_is_named() -> None:
    names = [v.field for v in violations(apples=[{"weight": 1}], label="yellow", lid=LID)]
    assert names == ["apples[0].weight", "label"]


def test_a_missing_message_is_named_without_a_value() -> None:
    (violation,) = violations()
    assert violation == FieldViolation("lid", "value is required")


def test_a_long_value_is_quoted_in_part() -> None:
    (violation,) = violations(label="x" * 10_000, lid=LID)
    assert violation.description.startswith("'xxxx")
    assert len(violation.description) < 150


def test_a_list_of_messages_is_not_quoted() -> None:
    (violation,) = violations(apples=[{"weight": 61}] * 4, lid=LID)
    assert violation == FieldViolation("apples", "4 items must contain no more than 3 item(s)")
