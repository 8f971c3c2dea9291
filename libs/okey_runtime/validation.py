"""Requests checked against the shape rules that stand in the protos (protovalidate); the error
names field and value.
"""

from collections.abc import Sized
from typing import Final

import protovalidate
from google.protobuf.message import Message
from okey.errors import quoted

from okey_runtime.errors import FieldViolation, InvalidField

_validator: Final = protovalidate.Validator()


def check_message(message: Message) -> None:
    """Return if the message keeps every shape rule of its proto.

    Raises:
        InvalidField: it breaks one or more; each violation names field, value and rule.
    """
    violations = _validator.collect_violations(message)
    if violations:
        raise InvalidField(tuple(map(_violation, violations)))


def _violation(violation: protovalidate.Violation) -> FieldViolation:
    proto = violation.proto
    path = ""
    for element in proto.field.elements if proto.field else ():
        path += f".{element.field_name}" if path else element.field_name
        if element.subscript is not None:
            path += f"[{element.subscript.value}]"
    return FieldViolation(
        path or "request", f"{_quoted(violation.field_value)} {proto.message}".strip()
    )


def _quoted(value: object) -> str:
    if isinstance(value, Sized) and not isinstance(value, str | bytes):
        return f"{len(value)} items"
    if not isinstance(value, str | bytes | int | float):
        return ""
    return quoted(value)
