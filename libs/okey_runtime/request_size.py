"""How large a message of a method can be: derived from the limits of its fields, before it is read.

The bytes of a message are bounded by its proto alone: each text, list and number has a limit there
(buf.validate). ``most_bytes`` adds room for the fields of newer clients. A message beyond that is
refused unparsed, so what it holds (half a million items, nesting, unknown fields) costs nothing.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from buf.validate import validate_pb2

_STEP: Final = 1_024
_ROOM: Final = 1_024
"""What a newer client may add: a dozen fields with ids (66 bytes each), or a text of 250 characters
with a few numbers. Where lists make a message larger than that, half of it, since each item can
grow.
"""
_WITHOUT_RULES: Final = 4 << 10
"""For health and reflection, whose protos have no limits: what is asked there is a name."""
_OURS: Final = "okey."
_CHARACTER: Final = 4
"""Bytes of a character of UTF-8, at most."""
_ENUM: Final = 2
"""Bytes of an enum's number up to 16,383."""
_NUMBERS: Final = {
    FieldDescriptor.TYPE_BOOL: 1,
    FieldDescriptor.TYPE_ENUM: _ENUM,
    FieldDescriptor.TYPE_FLOAT: 4,
    FieldDescriptor.TYPE_FIXED32: 4,
    FieldDescriptor.TYPE_SFIXED32: 4,
    FieldDescriptor.TYPE_UINT32: 5,
    FieldDescriptor.TYPE_SINT32: 5,
    FieldDescriptor.TYPE_DOUBLE: 8,
    FieldDescriptor.TYPE_FIXED64: 8,
    FieldDescriptor.TYPE_SFIXED64: 8,
    # The negative ones have ten; of an honest call a few break their rules like that.
    FieldDescriptor.TYPE_INT32: 10,
    FieldDescriptor.TYPE_INT64: 10,
    FieldDescriptor.TYPE_UINT64: 10,
    FieldDescriptor.TYPE_SINT64: 10,
}
_PART: Final = re.compile(
    r"(?:\[(?:[^\[\]\\^]|\\x[0-7][0-9a-f])+\]|[A-Za-z0-9_-])(?:\{(?:\d+,)?(\d+)\})?"
)
"""Of a pattern: one of the ASCII characters listed, or one alone, and at most how many."""


class SizeUnbounded(Exception):
    """A field of a request has no limit, so its message has none: give it one in the proto."""


@cache
def most_bytes(method: str) -> int:
    """The largest message that a method (``/package.Service/Method``) takes.

    Raises:
        SizeUnbounded: a field has no limit; the message names it.
    """
    _, service, name = method.split("/")
    if not service.startswith(_OURS):
        return _WITHOUT_RULES
    found = descriptor_pool.Default().FindServiceByName(service)
    return with_room(largest(found.methods_by_name[name].input_type))


def most_bytes_of(services: Iterable[str]) -> int:
    """The largest message of any method of these services, health and reflection included."""
    pool = descriptor_pool.Default()
    found = [pool.FindServiceByName(name) for name in services]
    methods = [f"/{each.full_name}/{name}" for each in found for name in each.methods_by_name]
    return max(map(most_bytes, methods), default=_WITHOUT_RULES)


def with_room(known: int) -> int:
    """The limit of a message, in whole KiB, by the bytes of its known fields."""
    return -(-(known + max(_ROOM, known // 2)) // _STEP) * _STEP


def largest(message: Descriptor, within: tuple[str, ...] = ()) -> int:
    """The bytes of the largest message that keeps its rules. Raises ``SizeUnbounded``."""
    if message.full_name in within:
        raise SizeUnbounded(f"{message.full_name} holds itself: {' > '.join(within)}")
    within = (*within, message.full_name)
    total, choices = 0, dict[str, int]()
    for field in message.fields:
        size = _field(field, within)
        if field.containing_oneof is None:
            total += size
        else:
            name = field.containing_oneof.name
            choices[name] = max(size, choices.get(name, 0))
    return total + sum(choices.values())


def _field(field: FieldDescriptor, within: tuple[str, ...]) -> int:
    rules = field.GetOptions().Extensions[validate_pb2.field]
    tag = _varint(field.number << 3)
    if not field.is_repeated:
        return tag + _value(field, rules, within)
    is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
    most = int(rules.map.max_pairs if is_map else rules.repeated.max_items)
    if not most:
        raise SizeUnbounded(f"{field.full_name} has no {'max_pairs' if is_map else 'max_items'}")
    return most * (tag + _value(field, rules.repeated.items, within))


def _value(field: FieldDescriptor, rules: Any, within: tuple[str, ...]) -> int:
    if field.message_type is not None:
        size = largest(field.message_type, within)
    elif field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
        size = _text(field, rules)
    else:
        return _NUMBERS[field.type]
    return _varint(size) + size


def _text(field: FieldDescriptor, rules: Any) -> int:
    """The bytes of a text or of bytes: the least that any of its rules allows."""
    is_text = field.type == FieldDescriptor.TYPE_STRING
    own = rules.string if is_text else rules.bytes
    each = _CHARACTER if is_text else 1
    limits = [each * length for length in (own.max_len, own.len) if length]
    if is_text:
        limits += [length for length in (own.max_bytes, own.len_bytes) if length]
        limits += [length for length in (_longest(own.pattern),) if length is not None]
    if not limits:
        raise SizeUnbounded(f"{field.full_name} has no max_len, nor a pattern that bounds it")
    return int(min(limits))


def _longest(pattern: str) -> int | None:
    """The longest text that a pattern allows; None where it is not one that only lists ASCII
    characters and how often each may stand, such as ``^([a-z]{26}-[0-9]{1,9}|none)$``.
    """
    if not (pattern.isascii() and pattern.startswith("^") and pattern.endswith("$")):
        return None
    choices = pattern[1:-1].removeprefix("(").removesuffix(")").split("|")
    longest = 0
    for choice in choices:
        parts = list(_PART.finditer(choice))
        if "".join(part[0] for part in parts) != choice:
            return None
        longest = max(longest, sum(int(part[1] or 1) for part in parts))
    return longest


def _varint(value: int) -> int:
    return max(1, -(-value.bit_length() // 7))
