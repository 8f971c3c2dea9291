"""Frozen dataclasses to protobuf messages and back, by field name.

A plan is compiled once a pair of types and then reused: enums by member name, None as 0 or
absent, tuples as repeated fields, a tuple of tuples as repeated messages with one repeated field,
dataclasses as messages, unions as a oneof whose case is the class name in snake_case. What a
message has no field for is not written.
"""

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache, partial
from typing import Any, Final, Generic, TypeVar, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

T = TypeVar("T")
M = TypeVar("M", bound=Message)
F = TypeVar("F", bound=Callable[..., Any])

_Write = Callable[[Any], Any]
_Read = Callable[[Message], Any]
_SCALARS: Final = (int, str, bool, bytes)


def _cached(make: F) -> F:
    """``functools.cache`` that keeps the signature; mypy doubts that a class is hashable."""
    return cast(F, cache(make))


class CodecMismatch(TypeError):
    """A dataclass and a message do not fit; a programmer's error, raised when the plan is made."""


class UndecodableMessage(ValueError):
    """A message holds what its dataclass cannot: no case, or a number without a member."""


def encode(value: object, message: type[M]) -> M:
    """The value as such a message; fields that only one of the two has are left out.

    Raises:
        CodecMismatch: a field of the same name has another type.
    """
    return cast(M, _encoder(type(value), cast(Descriptor, message.DESCRIPTOR))(value))


def decode(cls: type[T], message: Message) -> T:
    """The message as that dataclass.

    Raises:
        CodecMismatch: the message lacks a field of the dataclass, or has it with another type.
        UndecodableMessage: an enum's number has no member.
    """
    return cast(T, _decoder(cls, cast(Descriptor, message.DESCRIPTOR))(message))


def case_name(cls: type, prefix: str = "") -> str:
    """The oneof case of a class: its name without the prefix, in snake_case."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__.removeprefix(prefix)).lower()


class UnionCodec(Generic[M]):
    """Encodes the members of a union as the cases of a message's oneof."""

    def __init__(
        self,
        members: Iterable[type],
        message: type[M],
        *,
        oneof: str,
        prefix: str = "",
        is_exact: bool = False,
    ) -> None:
        """Pair each member with its case; ``prefix`` of class names is not part of the case.

        With ``is_exact`` every field must stand on both sides, as storage needs it.

        Raises:
            CodecMismatch: a member has no case or a case no member, or their fields do not fit.
        """
        self._message = message
        self._oneof = oneof
        cases = message.DESCRIPTOR.oneofs_by_name[oneof].fields
        fields = {field.name: cast(FieldDescriptor, field) for field in cases}
        classes = {case_name(cls, prefix): cls for cls in members}
        if fields.keys() != classes.keys():
            odd = sorted(fields.keys() ^ classes.keys())
            raise CodecMismatch(f"{message.__name__}.{oneof}: {odd} stand on one side only")
        if is_exact:
            for case, cls in classes.items():
                require_same_fields(cls, _message_type(fields[case]))
        self._writers: Mapping[type, tuple[str, _Write]] = {
            cls: (case, _encoder(cls, _message_type(fields[case]))) for case, cls in classes.items()
        }
        self._classes = classes

    def encode(self, value: object) -> M:
        """The value as the oneof's message.

        Raises:
            CodecMismatch: the value's class is no member.
        """
        writer = self._writers.get(type(value))
        if writer is None:
            raise CodecMismatch(f"{type(value).__name__} has no case in {self._message.__name__}")
        case, write = writer
        return self._message(**{case: write(value)})

    def decode(self, message: M) -> object:
        """The member that the message holds.

        Raises:
            UndecodableMessage: no case is set, or one that this version does not know.
        """
        case = message.WhichOneof(self._oneof)
        if case is None:
            raise UndecodableMessage(f"{self._message.__name__} holds no {self._oneof} known here")
        return decode(self._classes[case], getattr(message, case))


def require_same_fields(cls: Any, descriptor: Descriptor) -> None:
    """Return if dataclass and message have the same fields, nested ones too.

    Raises:
        CodecMismatch: a field stands on one side only, or has another type.
    """
    hints = _hints(cls)
    odd = sorted(hints.keys() ^ descriptor.fields_by_name.keys())
    if odd:
        raise CodecMismatch(f"{cls.__name__} and {descriptor.full_name}: only one has {odd}")
    _encoder(cls, descriptor)
    _decoder(cls, descriptor)
    for name, hint in hints.items():
        inner = _inner(hint)
        if dataclasses.is_dataclass(inner):
            require_same_fields(inner, _message_type(descriptor.fields_by_name[name]))


@_cached
def _encoder(cls: Any, descriptor: Descriptor) -> _Write:
    message = GetMessageClass(descriptor)
    plain: list[str] = []
    converted: list[tuple[str, _Write]] = []
    for name, hint in _hints(cls).items():
        field = descriptor.fields_by_name.get(name)
        if field is None:
            continue
        write = _write(hint, field)
        if write is None:
            plain.append(name)
        else:
            converted.append((name, write))

    def encode_value(value: Any) -> Message:
        content: dict[str, Any] = {name: getattr(value, name) for name in plain}
        for name, write in converted:
            part = getattr(value, name)
            if part is not None:
                content[name] = write(part)
        return message(**content)

    return encode_value


@_cached
def _decoder(cls: Any, descriptor: Descriptor) -> _Read:
    readers: list[_Read] = []
    for name, hint in _hints(cls).items():
        field = descriptor.fields_by_name.get(name)
        if field is None:
            raise CodecMismatch(f"{descriptor.full_name} lacks {name}, which {cls.__name__} has")
        readers.append(_read(hint, field))
    names = tuple(_hints(cls))

    def decode_message(message: Message) -> Any:
        return cls(**{name: read(message) for name, read in zip(names, readers, strict=True)})

    return decode_message


def _write(hint: Any, field: FieldDescriptor) -> _Write | None:
    """How a value goes into the field; None where it goes as it is and is never None."""
    hint, is_optional = _without_none(hint)
    if _is_tuple(hint) != field.is_repeated:
        raise CodecMismatch(f"{field.full_name}: one side is repeated, the other is not")
    inner = _inner(hint)
    if _is_tuple(hint):
        item = typing.get_args(hint)[0]
        if _is_tuple(item):
            return _write_rows(field)
        write = _write_item(inner, field)
        return None if write is None else partial(_write_all, write)
    write = _write_item(inner, field)
    return _same if write is None and is_optional else write


def _write_all(write: _Write, values: Iterable[Any]) -> list[Any]:
    return [write(value) for value in values]


def _write_rows(field: FieldDescriptor) -> _Write:
    name, message = _row_field(field).name, GetMessageClass(_message_type(field))
    return lambda rows: [message(**{name: row}) for row in rows]


def _write_item(cls: Any, field: FieldDescriptor) -> _Write | None:
    if dataclasses.is_dataclass(cls):
        return _encoder(cls, _message_type(field))
    if issubclass(cls, Enum):
        numbers = _numbers(cls, field)
        return None if issubclass(cls, int) else numbers.__getitem__
    _require_scalar(cls, field)
    return None


def _read(hint: Any, field: FieldDescriptor) -> _Read:
    hint, is_optional = _without_none(hint)
    if _is_tuple(hint) != field.is_repeated:
        raise CodecMismatch(f"{field.full_name}: one side is repeated, the other is not")
    name = field.name
    if _is_tuple(hint):
        item = typing.get_args(hint)[0]
        if _is_tuple(item):
            row = _row_field(field)
            inner = _read(item, row)
            return lambda message: tuple(map(inner, getattr(message, name)))
        convert = _read_item(item, field, is_optional=False)
        return lambda message: tuple(map(convert, getattr(message, name)))
    convert = _read_item(hint, field, is_optional=is_optional)
    if is_optional and dataclasses.is_dataclass(hint):
        return lambda message: convert(getattr(message, name)) if message.HasField(name) else None
    return lambda message: convert(getattr(message, name))


def _read_item(cls: Any, field: FieldDescriptor, *, is_optional: bool) -> _Write:
    if dataclasses.is_dataclass(cls):
        return _decoder(cls, _message_type(field))
    if issubclass(cls, Enum):
        members: dict[int, Enum | None] = {n: m for m, n in _numbers(cls, field).items()}
        if is_optional:
            members[0] = None
        return lambda number: _member(members, number, field)
    _require_scalar(cls, field)
    return _same


def _member(members: Mapping[int, Enum | None], number: int, field: FieldDescriptor) -> Enum | None:
    try:
        return members[number]
    except KeyError as error:
        raise UndecodableMessage(f"{field.full_name} is {number}, which has no member") from error


def _numbers(cls: type[Enum], field: FieldDescriptor) -> dict[Enum, int]:
    """Each member with the number of the protobuf value of the same name."""
    descriptor: EnumDescriptor | None = field.enum_type
    if descriptor is None:
        raise CodecMismatch(f"{field.full_name} is no enum, {cls.__name__} is")
    prefix = case_name(cls).upper()
    try:
        numbers = {m: descriptor.values_by_name[f"{prefix}_{m.name}"].number for m in cls}
    except KeyError as error:
        raise CodecMismatch(f"{descriptor.full_name} lacks {error}") from error
    if issubclass(cls, int) and any(member.value != number for member, number in numbers.items()):
        raise CodecMismatch(f"{cls.__name__} and {descriptor.full_name} have other numbers")
    return numbers


def _require_scalar(cls: type, field: FieldDescriptor) -> None:
    kinds = {
        FieldDescriptor.CPPTYPE_INT32: int,
        FieldDescriptor.CPPTYPE_INT64: int,
        FieldDescriptor.CPPTYPE_BOOL: bool,
        FieldDescriptor.CPPTYPE_STRING: bytes if field.type == FieldDescriptor.TYPE_BYTES else str,
    }
    if cls not in _SCALARS or kinds.get(field.cpp_type) is not cls:
        raise CodecMismatch(f"{field.full_name} cannot hold a {cls.__name__}")


def _row_field(field: FieldDescriptor) -> FieldDescriptor:
    fields = _message_type(field).fields
    if len(fields) != 1 or not fields[0].is_repeated:
        raise CodecMismatch(f"{field.full_name} stands for a tuple, so needs one repeated field")
    return fields[0]


def _message_type(field: FieldDescriptor) -> Descriptor:
    if field.message_type is None:
        raise CodecMismatch(f"{field.full_name} is no message, but stands for a dataclass")
    return field.message_type


@_cached
def _hints(cls: Any) -> Mapping[str, Any]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _without_none(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint, False
    rest = [part for part in typing.get_args(hint) if part is not type(None)]
    if len(rest) != 1:
        raise CodecMismatch(f"{hint} is a union of several: only 'X | None' can be a field")
    return rest[0], True


def _is_tuple(hint: Any) -> bool:
    return typing.get_origin(hint) is tuple


def _inner(hint: Any) -> Any:
    """The type inside tuples and 'X | None'."""
    hint, _ = _without_none(hint)
    while _is_tuple(hint):
        hint = typing.get_args(hint)[0]
    return hint


def _same(value: Any) -> Any:
    return value
