import importlib
import pkgutil
import time
from collections.abc import Iterator

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import (
    Descriptor,
    FieldDescriptor,
    FileDescriptor,
    ServiceDescriptor,
)

import okey.api
from buf.validate import validate_pb2
from okey.api.common.v1 import common_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey.api.rating.v1 import rating_pb2
from okey_runtime.errors import MOST_VIOLATIONS, FieldViolation, InvalidField
from okey_runtime.validation import check_message, keeps_rules
from tests.unit.runtime.echo import ask

INT64, STRING, MESSAGE, ENUM, OPTIONAL, REPEATED = 3, 9, 11, 14, 1, 3


def _basket() -> type:
    """A message of messages: ``apples`` (1 to 3 of weight 50 and more), a ``label``, a ``lid``,
    and rules over several fields at once.
    """
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
    ripeness = file.enum_type.add(name="Ripeness")
    for number, name in enumerate(("RIPENESS_UNSPECIFIED", "RIPENESS_GREEN")):
        ripeness.value.add(name=name, number=number)
    apple.field.add(
        name="ripeness", number=2, type=ENUM, label=OPTIONAL, type_name=".okey.test.Ripeness"
    )
    rules = apple.options.Extensions[validate_pb2.message].cel
    rules.add(
        id="light",
        message="weight must stay below 100 while green",
        expression="this.ripeness != 1 || this.weight < 100",
    )
    whole = basket.options.Extensions[validate_pb2.message].cel
    whole.add(id="lid", message="lid.ripeness must not be so", expression="this.lid.ripeness != 1")
    whole.add(id="secret", message="nothing says sesame", expression="this.label != 'open'")
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


def test_a_rule_over_several_fields_names_the_one_at_fault_and_its_value() -> None:
    (violation,) = violations(apples=[{"weight": 50}, {"weight": 100, "ripeness": 1}], lid=LID)
    assert violation == FieldViolation("apples[1].weight", "100 must stay below 100 while green")


def test_a_field_at_fault_may_lie_deeper_and_an_enums_value_has_its_name() -> None:
    (violation,) = violations(lid={"weight": 50, "ripeness": 1})
    assert violation == FieldViolation("lid.ripeness", "RIPENESS_GREEN must not be so")


def test_a_rule_that_names_no_field_is_told_as_it_is() -> None:
    (violation,) = violations(label="open", lid=LID)
    assert violation == FieldViolation("request", "nothing says sesame")


def test_a_field_whose_rule_of_ours_begins_with_its_name_is_named_once() -> None:
    with pytest.raises(InvalidField) as refused:
        check_message(lobby_pb2.EnqueueTicketRequest(terms=lobby_pb2.TableTerms(stake=49)))
    expected = "terms.stake: 49 must lie between 50 and 250000 chips, or be 0 for 50 (Ç1)"
    assert str(refused.value) == expected


def test_terms_that_do_not_fit_together_name_field_and_value() -> None:
    """O2: as a caller of the lobby meets it."""
    terms = lobby_pb2.TableTerms(mode=common_pb2.MODE_ESLI, seat_count=2)
    with pytest.raises(InvalidField) as refused:
        check_message(lobby_pb2.EnqueueTicketRequest(terms=terms))
    assert str(refused.value) == "terms.seat_count: 2 must be 4 in ESLI (O2)"


def files() -> Iterator[FileDescriptor]:
    """Our protos."""
    for found in pkgutil.walk_packages(okey.api.__path__, "okey.api."):
        file = getattr(importlib.import_module(found.name), "DESCRIPTOR", None)
        if file is not None:
            yield file


def services() -> Iterator[ServiceDescriptor]:
    """Every service of our protos."""
    for file in files():
        yield from file.services_by_name.values()


def rules_over_fields() -> Iterator[tuple[str, Descriptor, str]]:
    """Id, message and text of every such rule of our protos."""
    for file in files():
        for message in file.message_types_by_name.values():
            for rule in message.GetOptions().Extensions[validate_pb2.message].cel:
                yield rule.id, message, rule.message


def test_every_rule_of_ours_over_several_fields_begins_with_the_one_at_fault() -> None:
    found = list(rules_over_fields())
    assert len(found) >= 10
    nameless = []
    for rule_id, message, text in found:
        at: Descriptor | None = message
        for part in text.partition(" ")[0].split("."):
            field = None if at is None else at.fields_by_name.get(part)
            if field is None:
                nameless.append(rule_id)
                break
            at = field.message_type
    assert nameless == []


def test_no_more_violations_are_described_than_are_told() -> None:
    """Describing one takes 0.15 ms: 200 bad ids a call would be more than a core a player."""
    with pytest.raises(InvalidField) as refused:
        check_message(rating_pb2.GetRatingsRequest(player_ids=["!"] * 200))
    assert len(refused.value.violations) == MOST_VIOLATIONS


def test_a_list_that_is_too_long_is_refused_without_a_look_at_its_items() -> None:
    """A megabyte of items that each break a rule held the whole service up for 45 s."""
    request = rating_pb2.GetRatingsRequest(player_ids=[""] * 500_000)
    started_s = time.process_time()
    with pytest.raises(InvalidField) as refused:
        check_message(request)
    assert time.process_time() - started_s < 0.2
    assert refused.value.violations == (
        FieldViolation("player_ids", "500000 items must contain no more than 200 item(s)"),
    )
    assert not keeps_rules(request)


def lists_of_requests(message: Descriptor, within: str) -> Iterator[tuple[str, FieldDescriptor]]:
    """Every list that a request may hold, by its path."""
    for field in message.fields:
        path = f"{within}.{field.name}"
        if field.is_repeated:
            yield path, field
        if field.message_type is not None:
            yield from lists_of_requests(field.message_type, path)


def test_every_list_of_a_request_says_how_long_it_may_be() -> None:
    """But for the view that only an engine of ours sends to a bot."""
    found = [
        each
        for service in services()
        for method in service.methods
        if method.name != "ChooseAction"
        for each in lists_of_requests(method.input_type, method.input_type.name)
    ]
    assert "GetRatingsRequest.player_ids" in [path for path, _ in found]
    endless = [
        path
        for path, field in found
        if not field.GetOptions().Extensions[validate_pb2.field].repeated.max_items
    ]
    assert endless == []
    within_items = [
        path
        for path, field in found
        if field.message_type is not None
        and any(inner.is_repeated for inner in field.message_type.fields)
    ]
    assert within_items == []
