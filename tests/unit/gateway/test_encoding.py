"""The quick encoder writes what protobuf's own writes, for every message of the protos."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from okey.api.engine.v1 import engine_pb2
from services.gateway.encoding import encode
from tests.unit.test_access_tables import proto_services

DEPTH = 5
F = FieldDescriptor


def answers() -> Iterator[Descriptor]:
    """What every RPC answers."""
    for service in proto_services():
        for method in service.methods:
            yield method.output_type


ANSWERS = sorted({each.full_name: each for each in answers()}.items())


def scalar(field: Any, chance: Random) -> Any:
    """A value of a field, the default among them."""
    if field.enum_type is not None:
        return chance.choice([*(value.number for value in field.enum_type.values), 991])
    match field.cpp_type:
        case F.CPPTYPE_STRING if field.type == F.TYPE_BYTES:
            return chance.randbytes(chance.choice([0, 1, 32]))
        case F.CPPTYPE_STRING:
            return chance.choice(["", "Ayşe", '"\\\n'])
        case F.CPPTYPE_BOOL:
            return chance.random() < 0.5
        case F.CPPTYPE_DOUBLE | F.CPPTYPE_FLOAT:
            return chance.choice([0.0, 0.25, float("inf")])
        case F.CPPTYPE_INT64:
            return chance.choice([0, -1, 2**62])
        case _:
            return chance.choice([0, 1, 2**31 - 1])


def fill(message: Message, chance: Random, depth: int = 0) -> None:
    for field in message.DESCRIPTOR.fields:
        if chance.random() < 0.3:
            continue
        held: Any = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            fill_map(held, field.message_type, chance, depth)
        elif field.message_type is not None:
            if depth >= DEPTH or field.message_type.full_name == "google.protobuf.Any":
                continue
            for each in [held.add() for _ in range(2)] if field.is_repeated else [held]:
                each.SetInParent()
                fill(each, chance, depth + 1)
        elif field.is_repeated:
            held.extend(scalar(field, chance) for _ in range(chance.choice([0, 1, 4])))
        else:
            setattr(message, field.name, scalar(field, chance))


def fill_map(held: Any, entry: Any, chance: Random, depth: int) -> None:
    value = entry.fields_by_name["value"]
    for _ in range(2):
        key = scalar(entry.fields_by_name["key"], chance)
        if value.message_type is not None:
            fill(held[key], chance, depth + 1)
        else:
            held[key] = scalar(value, chance)


def expected(message: Message) -> dict[str, Any]:
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


@pytest.mark.parametrize("name", [name for name, _ in ANSWERS])
def test_every_answer_is_written_as_protobuf_writes_it(name: str) -> None:
    chance = Random(name)
    message_type = GetMessageClass(dict(ANSWERS)[name])
    assert encode(message_type()) == expected(message_type())
    for _ in range(3):
        message = message_type()
        fill(message, chance)
        assert encode(message) == expected(message)


def test_what_was_encoded_before_is_not_changed_by_the_next() -> None:
    """Empty lists and objects are shared, so nobody may fill them."""
    filled, empty = engine_pb2.TableUpdate(seq=1), engine_pb2.TableUpdate()
    filled.events.add()
    filled.display_names["ada"] = "Ada"
    before = encode(empty)
    assert encode(filled)["display_names"] == {"ada": "Ada"}
    assert encode(empty) == before == {**before, "events": [], "display_names": {}}
