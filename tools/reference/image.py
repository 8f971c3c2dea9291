"""The protos as descriptors with their comments."""

import importlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    ServiceDescriptorProto,
)

from tools.protos import write_image

OURS: Final = "okey/api/"

# Numbers of fields in descriptor.proto, of which the paths of comments are made.
_MESSAGES, _ENUMS, _SERVICES, _SYNTAX = 4, 5, 6, 12
_FIELDS, _NESTED, _NESTED_ENUMS, _METHODS, _VALUES = 2, 3, 4, 2, 2


@dataclass(frozen=True, slots=True)
class Package:
    """One package: what it declares by name within it (``Outer.Inner``), in the order of files.

    ``comments`` has the comment of ``Message``, ``Message.field``, ``ENUM_VALUE`` within
    ``Enum.ENUM_VALUE``, ``Service`` and ``Service.Method``; ``intros`` those of the files.
    """

    name: str
    folder: str
    intros: list[str] = field(default_factory=list)
    services: list[ServiceDescriptorProto] = field(default_factory=list)
    messages: dict[str, DescriptorProto] = field(default_factory=dict)
    enums: dict[str, EnumDescriptorProto] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)


def read() -> dict[str, Package]:
    """Every package of ours by its full name, from `protos/` as it is."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "image.binpb")
        write_image(file, Path(folder), "--include_source_info")
        image = FileDescriptorSet.FromString(file.read_bytes())
    packages: dict[str, Package] = {}
    for each in image.file:
        if each.name.startswith(OURS):
            # Its stub makes it known to what reads descriptors.
            importlib.import_module(f"{each.name.removesuffix('.proto').replace('/', '.')}_pb2")
            package = packages.setdefault(
                each.package, Package(each.package, each.name.rpartition("/")[0])
            )
            _add(package, each)
    return packages


def _add(package: Package, file: FileDescriptorProto) -> None:
    said = {
        tuple(place.path): place.leading_comments
        for place in file.source_code_info.location
        if place.leading_comments
    }
    package.intros.append(_text(said.get((_SYNTAX,), "")))
    package.services.extend(file.service)
    for path, name in _named(package, file):
        package.comments[name] = _text(said.get(path, ""))


def _text(comment: str) -> str:
    return "\n".join(line.removeprefix(" ") for line in comment.splitlines()).strip()


def _named(package: Package, file: FileDescriptorProto) -> Iterator[tuple[tuple[int, ...], str]]:
    """The path and name of everything that a file declares; notes messages and enums."""
    for at, service in enumerate(file.service):
        yield (_SERVICES, at), service.name
        for number, method in enumerate(service.method):
            yield (_SERVICES, at, _METHODS, number), f"{service.name}.{method.name}"
    for at, message in enumerate(file.message_type):
        yield from _message(package, message, (_MESSAGES, at), message.name)
    for at, enum in enumerate(file.enum_type):
        yield from _enum(package, enum, (_ENUMS, at), enum.name)


def _message(
    package: Package, message: DescriptorProto, path: tuple[int, ...], name: str
) -> Iterator[tuple[tuple[int, ...], str]]:
    package.messages[name] = message
    yield path, name
    for at, each in enumerate(message.field):
        yield (*path, _FIELDS, at), f"{name}.{each.name}"
    for at, nested in enumerate(message.nested_type):
        yield from _message(package, nested, (*path, _NESTED, at), f"{name}.{nested.name}")
    for at, enum in enumerate(message.enum_type):
        yield from _enum(package, enum, (*path, _NESTED_ENUMS, at), f"{name}.{enum.name}")


def _enum(
    package: Package, enum: EnumDescriptorProto, path: tuple[int, ...], name: str
) -> Iterator[tuple[tuple[int, ...], str]]:
    package.enums[name] = enum
    yield path, name
    for at, value in enumerate(enum.value):
        yield (*path, _VALUES, at), f"{name}.{value.name}"
