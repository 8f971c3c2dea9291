"""Requests checked against the shape rules that stand in the protos (protovalidate), and their
players' ids against those of the house; the error names field and value.
"""

import re
from collections.abc import Iterator, Sized
from functools import cache
from typing import Any, Final

import protovalidate
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from buf.validate import validate_pb2
from okey.errors import quoted
from okey_runtime.errors import MOST_VIOLATIONS, FieldViolation, InvalidField
from okey_runtime.identity import refuse_reserved

_PLAYER: Final = re.compile(r"(\w+_)?players?(_ids?)?")
"""Fields of requests that name a player: ``player``, ``player_id``, ``around_player_id``, ..."""
_validator: Final = protovalidate.Validator()


def keeps_rules(message: Message) -> bool:
    """Whether the message keeps every shape rule of its proto."""
    return not any(_overlong(message)) and not _validator.collect_violations(
        message, fail_fast=True
    )


def check_message(message: Message) -> None:
    """Return if the message keeps every shape rule of its proto.

    Raises:
        InvalidField: it breaks one or more; each violation names field, value and rule, and there
            are no more of them than the caller is told. Of a list that is too long nothing else is.
        PlayerReserved: a field that names a player has an id of the house or a service.
    """
    overlong = tuple(_overlong(message))
    if overlong:
        raise InvalidField(overlong)
    for player in players_of(message):
        refuse_reserved(player)
    violations = _validator.collect_violations(message)[:MOST_VIOLATIONS]
    if violations:
        raise InvalidField(tuple(_violation(message, each) for each in violations))


def players_of(message: Message) -> Iterator[str]:
    """Every player's id in the message, but for fields that are empty."""
    for field in player_fields(message.DESCRIPTOR):
        if field.is_repeated:
            values = list(getattr(message, field.name))
        elif field.message_type is None or message.HasField(field.name):
            values = [getattr(message, field.name)]
        else:
            continue
        for value in values:
            if isinstance(value, Message):
                yield from players_of(value)
            elif value:
                yield value


@cache
def player_fields(kind: Descriptor) -> tuple[FieldDescriptor, ...]:
    """The fields that name players, or hold messages that do; of most requests there are none."""
    return tuple(field for field in kind.fields if _leads_to_player(field, frozenset()))


def _leads_to_player(field: FieldDescriptor, above: frozenset[str]) -> bool:
    kind = field.message_type
    if kind is None:
        is_text = field.type == FieldDescriptor.TYPE_STRING
        return is_text and _PLAYER.fullmatch(field.name) is not None
    if kind.full_name in above or kind.GetOptions().map_entry:
        return False
    return any(_leads_to_player(each, above | {kind.full_name}) for each in kind.fields)


def _overlong(message: Message, within: str = "") -> Iterator[FieldViolation]:
    """Lists with more items than they may have, found without a look at the items: half a million
    that each break a rule would hold everybody else up for a minute.
    """
    if not _has_lists(message.DESCRIPTOR):
        return  # most commands
    for field, value in message.ListFields():
        path = within + field.name
        if field.is_repeated:
            most = _most_items(field)
            if most and len(value) > most:
                yield FieldViolation(
                    path, f"{len(value)} items must contain no more than {most} item(s)"
                )
        elif field.message_type is not None:
            yield from _overlong(value, f"{path}.")


@cache
def _has_lists(kind: Descriptor) -> bool:
    """Whether a list stands anywhere in messages of this kind."""
    looked_at: set[str] = set()
    left = [kind]
    while left:
        looked_at.add((each := left.pop()).full_name)
        if any(field.is_repeated for field in each.fields):
            return True
        parts = (field.message_type for field in each.fields)
        left += [part for part in parts if part and part.full_name not in looked_at]
    return False


@cache
def _most_items(field: FieldDescriptor) -> int:
    """How many items a list may have, 0 where no rule says it."""
    rules = field.GetOptions().Extensions[validate_pb2.field]
    return int(rules.repeated.max_items)


def _violation(request: Message, violation: protovalidate.Violation) -> FieldViolation:
    proto, value = violation.proto, violation.field_value
    path = ""
    for element in proto.field.elements if proto.field else ():
        path += f".{element.field_name}" if path else element.field_name
        if element.subscript is not None:
            path += f"[{element.subscript.value}]"
    text = proto.message
    if proto.rule is not None:
        text = text.removeprefix(f"{path.rpartition('.')[2]} ")
    else:  # no field's rule, but one of a whole message
        whole = value if isinstance(value, Message) else request
        at_fault = _field_at_fault(whole, text)
        if at_fault is not None:
            name, value = at_fault
            path = f"{path}.{name}" if path else name
            text = text.removeprefix(name).lstrip()
    return FieldViolation(path or "request", f"{_quoted(value)} {text}".strip())


def _field_at_fault(message: Message, text: str) -> tuple[str, object] | None:
    """The field that is to be mended where a rule over several fields is broken, and its value.

    The text of such a rule begins with it, as in ``seat_count must be 4 in ESLI``; it may lie
    deeper, as in ``terms.mode needs nobody else``.
    """
    name = text.partition(" ")[0]
    value: Any = message
    for part in name.split("."):
        field = value.DESCRIPTOR.fields_by_name.get(part) if isinstance(value, Message) else None
        if field is None:
            return None
        value = getattr(value, part)
        if field.enum_type is not None:
            known = field.enum_type.values_by_number.get(value)
            value = value if known is None else _Named(known.name)
    return name, value


class _Named(str):
    """The name of an enum's value; it is told as it is, without quotes."""

    __slots__ = ()


def _quoted(value: object) -> str:
    if isinstance(value, _Named):
        return str(value)
    if isinstance(value, Sized) and not isinstance(value, str | bytes):
        return f"{len(value)} items"
    if not isinstance(value, str | bytes | int | float):
        return ""
    return quoted(value)
