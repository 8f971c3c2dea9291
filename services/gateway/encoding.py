"""Protobuf messages to JSON objects as ``json_format`` writes them, four times as fast.

What there is to know of a message type is found out once. A frame's cost is almost all here, and
each player gets frames of its own. Field names are the protos'; fields without presence are written
even where they are empty. Types that have a JSON form of their own are left to ``json_format``.
"""

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

Encode = Callable[[Any], Any]

_LEFT_ALONE: Final = ("google.protobuf.", "google.rpc.")
_encoders: Final[dict[Descriptor, "_Encoder"]] = {}

_Field = FieldDescriptor
_LONG: Final = frozenset({_Field.CPPTYPE_INT64, _Field.CPPTYPE_UINT64})
_FLOATING: Final = frozenset({_Field.CPPTYPE_DOUBLE, _Field.CPPTYPE_FLOAT})


def encode(message: Message) -> dict[str, Any]:
    """The message as an object."""
    return encoder_of(cast(Descriptor, message.DESCRIPTOR))(message)


def encoder_of(descriptor: Descriptor) -> Callable[[Message], dict[str, Any]]:
    """What encodes messages of a type."""
    if descriptor.full_name.startswith(_LEFT_ALONE) or _has_floats(descriptor):
        return _slowly
    found = _encoders.get(descriptor)
    if found is None:
        found = _encoders[descriptor] = _Encoder()
        # Known before its fields are looked at: a type may hold itself.
        found.learn(descriptor)
    return found


class _Encoder:
    """What is known of one type: by field number its name and what encodes its value."""

    __slots__ = ("_empty", "_fields")

    def __init__(self) -> None:
        self._empty: dict[str, Any] = {}
        self._fields: dict[int, tuple[str, Encode]] = {}

    def learn(self, descriptor: Descriptor) -> None:
        """Look at every field."""
        for field in descriptor.fields:
            value = _encode_value(field)
            if _is_map(field):
                self._fields[field.number] = (field.name, _map_encode(field))
                self._empty[field.name] = {}
            elif field.is_repeated:
                self._fields[field.number] = (field.name, _list_encode(value))
                self._empty[field.name] = []
            else:
                self._fields[field.number] = (field.name, value)
                if not field.has_presence:
                    self._empty[field.name] = value(field.default_value)

    def __call__(self, message: Message) -> dict[str, Any]:
        content = self._empty.copy()
        fields = self._fields
        for field, value in message.ListFields():
            name, to_json = fields[field.number]
            content[name] = to_json(value)
        return content


def _encode_value(field: FieldDescriptor) -> Encode:
    """What encodes one value of a field."""
    if field.message_type is not None:
        return encoder_of(field.message_type)
    if field.enum_type is not None:
        return _enum_encode(field.enum_type)
    if field.cpp_type in _LONG:
        return str
    if field.type == _Field.TYPE_BYTES:
        return _to_base64
    return _as_it_is


def _list_encode(value: Encode) -> Encode:
    if value is _as_it_is:
        return list
    return lambda values: [value(each) for each in values]


def _map_encode(field: FieldDescriptor) -> Encode:
    entry = field.message_type
    assert entry is not None, f"{field.full_name} is a map"
    value = _encode_value(entry.fields_by_name["value"])

    def to_json(values: Mapping[Any, Any]) -> dict[str, Any]:
        return {_key(key): value(each) for key, each in values.items()}

    return to_json


def _enum_encode(enum: EnumDescriptor) -> Encode:
    names = {value.number: value.name for value in enum.values}
    return lambda number: names.get(number, number)


def _key(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _has_floats(descriptor: Descriptor) -> bool:
    """Infinity and the like have forms of their own."""
    return any(field.cpp_type in _FLOATING for field in descriptor.fields)


def _as_it_is(value: Any) -> Any:
    return value


def _to_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _slowly(message: Message) -> dict[str, Any]:
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
