"""The pages: one a package, one of all reasons, and the index."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import grpc
from google.protobuf.descriptor_pb2 import (
    FieldDescriptorProto,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)

from okey_runtime.request_size import most_bytes
from tools.reference import guide, limits
from tools.reference.guide import Reason
from tools.reference.image import Package
from tools.reference.markdown import anchor, plain, table

_SCALARS: Final = {
    number: name.removeprefix("TYPE_").lower() for name, number in FieldDescriptorProto.Type.items()
}
_COMPOSED: Final = (FieldDescriptorProto.TYPE_MESSAGE, FieldDescriptorProto.TYPE_ENUM)
_REPEATED: Final = FieldDescriptorProto.LABEL_REPEATED
_ROLES: Final = re.compile(r"\bRoles: [a-z,\s]+\.\s*")
_STATUSES: Final = {code.name for code in grpc.StatusCode}
_MADE: Final = "<!-- Made by `make protos` from {source}. Change that, not this page. -->"


class RolesMissing(Exception):
    """The guide does not say who may call an RPC."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What the pages are made from: packages, reasons and roles of `Service.Method`, by name."""

    packages: Mapping[str, Package]
    reasons: Mapping[str, Reason]
    roles: Mapping[str, tuple[str, ...]]

    def shown(self) -> list[Package]:
        """The packages with a service, and those that these refer to, by name."""
        found: dict[str, Package] = {}
        left = [package for package in self.packages.values() if package.services]
        while left:
            package = left.pop()
            if package.name not in found:
                found[package.name] = package
                left += [self.packages[name] for name in self._referred(package)]
        return [found[name] for name in sorted(found)]

    def _referred(self, package: Package) -> set[str]:
        types = {each.type_name for one in package.messages.values() for each in one.field}
        return {name for name in self.packages for each in types if each.startswith(f".{name}.")}

    def roles_of(self, service: str, method: str) -> str:
        """Who may call an RPC, as text. Raises ``RolesMissing``."""
        found = self.roles.get(f"{service}.{method}")
        if not found:
            raise RolesMissing(f"{service}.{method}: give it a row in docs/api.md")
        return ", ".join(found)

    def reasons_in(self, comment: str) -> list[Reason]:
        """The reasons that a comment names, each once, in its order."""
        names = dict.fromkeys(re.findall(rf"\b{guide.REASON}\b", comment))
        return [self.reasons[n] for n in names if n in self.reasons and n not in _STATUSES]


def page_name(package: str) -> str:
    """The file of a package's page: `okey.api.lobby.v1` has `lobby.md`."""
    return f"{package.split('.')[-2]}.md"


def package_page(reference: Reference, package: Package) -> str:
    """The page of a package: its RPCs with what they take and give, then other types."""
    lines = [_MADE.format(source=f"protos/{package.folder}"), f"# {package.name}", ""]
    for intro in package.intros:
        lines += [plain(intro), ""]
    own = set()
    for service in package.services:
        lines += [f"## {service.name}", "", plain(package.comments[service.name]), ""]
        for method in service.method:
            lines += _rpc(reference, package, service, method)
            for full_name in (method.input_type, method.output_type):
                name = _local(package, full_name)
                own.add(name)
                lines += _message(package, name, "####")
    others = [name for name, one in package.messages.items() if name not in own | _maps(package)]
    if others:
        lines += ["## Messages", ""]
    for name in others:
        lines += _message(package, name, "###")
    if package.enums:
        lines += ["## Enums", ""]
    for name in package.enums:
        lines += _enum(package, name)
    return "\n".join(lines).rstrip() + "\n"


def _rpc(
    reference: Reference,
    package: Package,
    service: ServiceDescriptorProto,
    method: MethodDescriptorProto,
) -> list[str]:
    name = f"{service.name}.{method.name}"
    comment = package.comments[name]
    takes, gives = _local(package, method.input_type), _local(package, method.output_type)
    stream = "a stream of "
    up = f"{stream * method.client_streaming}[{takes}](#{anchor(takes)})"
    down = f"{stream * method.server_streaming}[{gives}](#{anchor(gives)})"
    return [
        f"### {name}",
        "",
        plain(_ROLES.sub("", comment)).strip(),
        "",
        f"- Call: `/{package.name}.{service.name}/{method.name}`, takes {up}, gives {down}",
        f"- Roles: {reference.roles_of(service.name, method.name)}",
        f"- Largest message: {_largest(package, service, method):,} bytes",
        "",
        *table(
            ("reason", "status", "what it means, what to do"),
            (
                (
                    f"[`{reason.name}`](errors.md#{anchor(reason.name)})",
                    reason.status,
                    _moved(reason),
                )
                for reason in reference.reasons_in(comment)
            ),
        ),
    ]


def _largest(
    package: Package, service: ServiceDescriptorProto, method: MethodDescriptorProto
) -> int:
    return most_bytes(f"/{package.name}.{service.name}/{method.name}")


def _moved(reason: Reason) -> str:
    """A reason's advice, its links as seen from a folder below; its bars are escaped anew."""
    return re.sub(r"\]\((?!https?:|#)", "](../", reason.advice.replace(r"\|", "|"))


def _local(package: Package, full_name: str) -> str:
    return full_name.removeprefix(f".{package.name}.")


def _maps(package: Package) -> set[str]:
    return {name for name, one in package.messages.items() if one.options.map_entry}


def _message(package: Package, name: str, level: str) -> list[str]:
    message = package.messages[name]
    lines = [f"{level} {name}", "", plain(package.comments[name]), ""]
    rows = [
        (
            str(field.number),
            f"`{field.name}`",
            _type(package, name, field),
            plain(package.comments[f"{name}.{field.name}"]),
            ", ".join(_plain_rule(rule) for rule in limits.of_field(field)),
        )
        for field in message.field
    ]
    lines += table(("no.", "field", "type", "what", "limits"), rows)
    for at, oneof in enumerate(message.oneof_decl):
        fields = [
            each.name
            for each in message.field
            if each.HasField("oneof_index") and each.oneof_index == at and not each.proto3_optional
        ]
        if fields:
            names = ", ".join(f"`{each}`" for each in fields)
            must = "".join(f"; {rule}" for rule in limits.of_oneof(oneof))
            lines += [f"At most one of {names} is set{must}.", ""]
    between = limits.of_message(message)
    if between:
        lines += [*(f"- {plain(rule)}" for rule in between), ""]
    return lines if rows else [*lines, "No fields.", ""]


def _plain_rule(rule: str) -> str:
    return rule if rule.startswith("`") else plain(rule)


def _type(package: Package, owner: str, field: FieldDescriptorProto) -> str:
    """A field's type as Markdown, with a link where it is one of ours."""
    entry = package.messages.get(_local(package, field.type_name)) if field.type_name else None
    if entry is not None and entry.options.map_entry:
        key, value = (_type(package, owner, part) for part in entry.field)
        return f"map of {key} to {value}"
    text = _type_name(package, field)
    if field.label == _REPEATED:
        return f"repeated {text}"
    return f"optional {text}" if field.proto3_optional else text


def _type_name(package: Package, field: FieldDescriptorProto) -> str:
    if field.type not in _COMPOSED:
        return _SCALARS[field.type]
    full_name = field.type_name.removeprefix(".")
    if not full_name.startswith("okey.api."):
        return f"`{full_name}`"
    other, _, name = re.split(r"(?<=\.v1)(\.)", full_name, maxsplit=1)
    page = "" if other == package.name else page_name(other)
    return f"[{name}]({page}#{anchor(name)})"


def _enum(package: Package, name: str) -> list[str]:
    rows = [
        (str(value.number), f"`{value.name}`", plain(package.comments[f"{name}.{value.name}"]))
        for value in package.enums[name].value
    ]
    return [
        f"### {name}",
        "",
        plain(package.comments[name]),
        "",
        *table(("no.", "value", "what"), rows),
    ]


def errors_page(reference: Reference) -> str:
    """Every reason in order of the alphabet: status, what to do, and which RPCs name it."""
    named = _rpcs_by_reason(reference)
    lines = [
        _MADE.format(source="docs/api.md"),
        "# Every reason of an error",
        "",
        "How errors travel, and what to do by status, tells [the guide](../api.md#errors).",
        "",
    ]
    for name in sorted(reference.reasons):
        reason = reference.reasons[name]
        lines += [f"### {name}", "", f"`{reason.status}`. {_moved(reason)}", ""]
        if name in named:
            lines += ["Named by " + ", ".join(named[name]) + ".", ""]
    return "\n".join(lines).rstrip() + "\n"


def _rpcs_by_reason(reference: Reference) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for package, service, method in _rpcs(reference):
        name = f"{service.name}.{method.name}"
        link = f"[{name}]({page_name(package.name)}#{anchor(name)})"
        for reason in reference.reasons_in(package.comments[name]):
            found.setdefault(reason.name, []).append(link)
    return found


def _rpcs(
    reference: Reference,
) -> Iterator[tuple[Package, ServiceDescriptorProto, MethodDescriptorProto]]:
    for package in reference.shown():
        for service in package.services:
            for method in service.method:
                yield package, service, method


def index_page(reference: Reference) -> str:
    """Every RPC with its roles and its first sentence."""
    lines = [
        _MADE.format(source="protos/ and docs/api.md"),
        "# Reference of the API",
        "",
        "Every RPC, message, field, enum value and limit, from the comments and rules of "
        "`protos/`; [every reason of an error](errors.md). How the calls fit together tells "
        "[the guide](../api.md).",
        "",
        "By package: "
        + ", ".join(f"[{package.name}]({page_name(package.name)})" for package in reference.shown())
        + ".",
        "",
    ]
    rows = []
    for package, service, method in _rpcs(reference):
        name = f"{service.name}.{method.name}"
        comment = package.comments[name]
        rows.append(
            (
                f"[{name}]({page_name(package.name)}#{anchor(name)})",
                plain(_first_sentence(comment)),
                reference.roles_of(service.name, method.name),
            )
        )
    return "\n".join([*lines, *table(("RPC", "what", "roles"), rows)]).rstrip() + "\n"


def _first_sentence(comment: str) -> str:
    flowing = " ".join(comment.split())
    return re.split(r"(?<=[.])\s(?=[A-Z])", flowing, maxsplit=1)[0]


def pages(reference: Reference) -> dict[str, str]:
    """File name -> text of every page."""
    found = {page_name(p.name): package_page(reference, p) for p in reference.shown()}
    return {**found, "errors.md": errors_page(reference), "README.md": index_page(reference)}
