"""Protobuf messages as browsers read and write them: JSON with the protos' own field names."""

from typing import Any, Final, TypeVar

import orjson
from google.protobuf import json_format
from google.protobuf.message import Message

from buf.validate import validate_pb2
from okey_runtime.errors import FieldViolation, InvalidField, MalformedRequest
from okey_runtime.request_size import most_bytes

Parsed = TypeVar("Parsed", bound=Message)

Json = dict[str, Any]
"""An object as ``orjson`` reads and writes it; its form is the protos' and docs/gateway.md's."""

LEAST_BYTES: Final = 4 << 10
"""The smallest allowance of JSON: the names of a message's fields may be longer than its values."""
_BYTES_FOR_ONE: Final = 2
"""Bytes of JSON for one of protobuf. A limit in protobuf has half of the message as room, so the
two make three: as many as the escapes (``\\u015f``) of a character have for one byte of its UTF-8.
"""


def from_json(content: Json, message: Parsed, *, is_reading: bool = False) -> Parsed:
    """The message, filled with an object as ``read_object`` gives it.

    A newer page may send fields that this gateway does not know. Empty ones say nothing, and are
    ignored; others only in a call that changes nothing (``is_reading``). Elsewhere they are
    refused: what they ask for, such as privacy, would be left out unsaid.

    Raises:
        MalformedRequest: it is no such object.
        InvalidField: a list is longer than its field allows; nothing was made of it.
    """
    known = _known(content, message.DESCRIPTOR, is_reading)
    try:
        return json_format.ParseDict(known, message)
    except (json_format.ParseError, OverflowError) as error:  # infinity is no whole number
        raise MalformedRequest(f"{message.DESCRIPTOR.full_name}: {error}") from error


def most_json_bytes(method: str) -> int:
    """The longest JSON of a message of a method (``/package.Service/Method``)."""
    return max(LEAST_BYTES, _BYTES_FOR_ONE * most_bytes(method))


def _known(content: Json, of: Any, is_reading: bool) -> Json:
    """Without the unknown fields that may be ignored; those that may not are left to the parser."""
    known = {}
    for name, value in content.items():
        field = of.fields_by_name.get(name) or of.fields_by_camelcase_name.get(name)
        if field is None:
            # A message that is there says something, though it be empty: such as which command.
            if not is_reading and (value or isinstance(value, dict)):
                known[name] = value
            continue
        _refuse_long_list(field, value)
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            known[name] = value
        else:
            known[name] = _known_below(value, field.message_type, is_reading)
    return known


def _known_below(value: Any, of: Any, is_reading: bool) -> Any:
    if isinstance(value, list):
        return [_known_below(each, of, is_reading) for each in value]
    return _known(value, of, is_reading) if isinstance(value, dict) else value


def _refuse_long_list(field: Any, value: object) -> None:
    """Only items of lists are without number in a few bytes, and each costs as much as a field."""
    if isinstance(value, list) and field.is_repeated:
        rules: Any = field.GetOptions().Extensions[validate_pb2.field]
        most = rules.repeated.max_items
        if len(value) > most:
            rule = f"must have at most {most} items, this one has {len(value)}"
            raise InvalidField((FieldViolation(field.name, rule),))


def read_object(text: bytes | str) -> Json:
    """The JSON object that a request or a frame holds.

    Raises:
        MalformedRequest: it holds anything else.
    """
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise MalformedRequest(f"this is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise MalformedRequest(f"a JSON object is expected, not {type(content).__name__}")
    return content
