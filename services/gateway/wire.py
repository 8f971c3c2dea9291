"""Protobuf messages as browsers read and write them: JSON with the protos' own field names."""

from typing import Any, TypeVar

import orjson
from google.protobuf import json_format
from google.protobuf.message import Message

from okey_runtime.errors import MalformedRequest

Parsed = TypeVar("Parsed", bound=Message)

Json = dict[str, Any]
"""An object as ``orjson`` reads and writes it; its form is the protos' and docs/gateway.md's."""


def from_json(content: Json, message: Parsed) -> Parsed:
    """The message, filled with an object as ``read_object`` gives it.

    Raises:
        MalformedRequest: it is no such object.
    """
    try:
        return json_format.ParseDict(content, message)
    except (json_format.ParseError, OverflowError) as error:  # infinity is no whole number
        raise MalformedRequest(f"{message.DESCRIPTOR.full_name}: {error}") from error


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
