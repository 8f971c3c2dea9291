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


def from_json(content: Json, message: Parsed) -> Parsed:
    """The message, filled with an object as ``read_object`` gives it.

    Raises:
        MalformedRequest: it is no such object.
        InvalidField: a list is longer than its field allows; nothing was made of it.
    """
    _refuse_long_lists(content, message.DESCRIPTOR)
    try:
        return json_format.ParseDict(content, message)
    except (json_format.ParseError, OverflowError) as error:  # infinity is no whole number
        raise MalformedRequest(f"{message.DESCRIPTOR.full_name}: {error}") from error


def most_json_bytes(method: str) -> int:
    """The longest JSON of a message of a method (``/package.Service/Method``)."""
    return max(LEAST_BYTES, _BYTES_FOR_ONE * most_bytes(method))


def _refuse_long_lists(content: Json, of: Any) -> None:
    """Only items of lists are without number in a few bytes, and each costs as much as a field."""
    for name, value in content.items():
        field = of.fields_by_name.get(name) or of.fields_by_camelcase_name.get(name)
        if field is None:
            return  # the parser refuses it
        if isinstance(value, list):
            rules: Any = field.GetOptions().Extensions[validate_pb2.field]
            most = rules.repeated.max_items
            if field.is_repeated and len(value) > most:
                rule = f"must have at most {most} items, this one has {len(value)}"
                raise InvalidField((FieldViolation(field.name, rule),))
        if field.message_type is not None:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    _refuse_long_lists(each, field.message_type)


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
