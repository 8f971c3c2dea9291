"""The shape rules of a field or message (buf.validate) as words."""

from collections.abc import Callable
from typing import Any, Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    OneofDescriptorProto,
)

from buf.validate import validate_pb2


class RuleUnknown(Exception):
    """A proto uses a rule that has no words yet: add them here, or the reference would hide it."""


def _listed(values: Any) -> str:
    return ", ".join(f"{value:,}" if isinstance(value, int) else str(value) for value in values)


_WORDS: Final[dict[str, Callable[[Any], str]]] = {
    "const": lambda value: f"always {str(value).lower()}",
    "len": lambda value: f"length {value:,}",
    "min_len": lambda value: f"at least {value:,} long",
    "max_len": lambda value: f"at most {value:,} long",
    "pattern": lambda value: f"`{value}`",
    "gte": lambda value: f"≥ {value:,}",
    "gt": lambda value: f"> {value:,}",
    "lte": lambda value: f"≤ {value:,}",
    "lt": lambda value: f"< {value:,}",
    "in": lambda values: f"one of {_listed(values)}",
    "not_in": lambda values: f"not {_listed(values)}",
    "defined_only": lambda _: "a value listed there",
    "min_items": lambda value: f"at least {value:,}",
    "max_items": lambda value: f"at most {value:,}",
    "unique": lambda _: "no two alike",
    "items": lambda rules: "each " + ", ".join(_field_rules(rules)),
}


def of_field(field: FieldDescriptorProto) -> list[str]:
    """What a value of the field has to be, a phrase each. Raises ``RuleUnknown``."""
    return _field_rules(field.options.Extensions[validate_pb2.field])


def of_oneof(oneof: OneofDescriptorProto) -> list[str]:
    """Whether one of a oneof's fields has to be set."""
    return ["one has to be set"] if oneof.options.Extensions[validate_pb2.oneof].required else []


def of_message(message: DescriptorProto) -> list[str]:
    """What has to hold between a message's fields, a sentence each. Raises ``RuleUnknown``."""
    rules = message.options.Extensions[validate_pb2.message]
    _refuse_others(rules, {"cel"})
    return [cel.message for cel in rules.cel]


def _field_rules(rules: Any) -> list[str]:
    kind = rules.WhichOneof("type")
    _refuse_others(rules, {"cel", "required", "ignore", kind})
    found = ["has to be set"] if rules.required else []
    found += [cel.message for cel in rules.cel]
    if kind is not None:
        for rule, value in getattr(rules, kind).ListFields():
            if rule.name not in _WORDS:
                raise RuleUnknown(f"{kind}.{rule.name} has no words in {__name__}")
            found.append(_WORDS[rule.name](value))
    if rules.ignore == validate_pb2.IGNORE_IF_ZERO_VALUE:
        found.append("or left out")
    return found


def _refuse_others(rules: Any, known: set[str | None]) -> None:
    others = [rule.name for rule, _ in rules.ListFields() if rule.name not in known]
    if others:
        raise RuleUnknown(f"{', '.join(others)} has no words in {__name__}")
