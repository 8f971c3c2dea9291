"""Every RPC that the platform serves, read from the descriptors: a new one is tested at once."""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

import okey.api
from okey_runtime import status_servicer
from okey_runtime.access import AccessTable
from okey_runtime.audiences import PEER
from okey_runtime.identity import Role
from tests.unit.test_access_tables import APPS

HOMES: Final = {
    # Every process serves it; one is enough to try.
    status_servicer.SERVICE: "engine",
    **{service: name for name, app in APPS.items() for service in app.services},
}
"""Which process serves which service."""


@dataclass(frozen=True)
class Rpc:
    """One method, the process that serves it, and what its messages are."""

    home: str
    service: str
    name: str
    request: type[Message]
    takes_stream: bool
    gives_stream: bool

    @property
    def path(self) -> str:
        """How it is called."""
        return f"/{self.service}/{self.name}"

    @property
    def short(self) -> str:
        """``Service.Method``."""
        return f"{self.service.rpartition('.')[2]}.{self.name}"


def callee_of(home: str, role: Role) -> str:
    """Whom a token with that role has to be for to count at the process."""
    return PEER if home == "engine" and role is Role.ENGINE else home


def access_of(home: str) -> AccessTable:
    """Who may call what there."""
    return APPS[home].access | status_servicer.ACCESS


def every_rpc() -> list[Rpc]:
    """All of them, by path; fails where a service has no home here."""
    return sorted((rpc for each in _services() for rpc in _rpcs(each)), key=lambda rpc: rpc.path)


def _services() -> Iterator[ServiceDescriptor]:
    for found in pkgutil.walk_packages(okey.api.__path__, "okey.api."):
        if found.name.endswith("_pb2"):
            yield from importlib.import_module(found.name).DESCRIPTOR.services_by_name.values()


def _rpcs(service: ServiceDescriptor) -> Iterator[Rpc]:
    for method in service.methods:
        yield Rpc(
            HOMES[service.full_name],
            service.full_name,
            method.name,
            GetMessageClass(method.input_type),
            method.client_streaming,
            method.server_streaming,
        )
