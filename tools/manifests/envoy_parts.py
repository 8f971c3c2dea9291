"""The grammar of Envoy's configuration: extensions, typed messages, addresses."""

from dataclasses import dataclass
from typing import Final, TypeAlias

Json: TypeAlias = dict[str, object]

TYPE: Final = "@type"
API: Final = "type.googleapis.com/envoy.extensions"


@dataclass(frozen=True)
class Address:
    """Where somebody is found."""

    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> "Address":
        """``host:port`` taken apart."""
        host, _, port = text.rpartition(":")
        return cls(host, int(port))


def extension(name: str, kind: str, config: Json | None = None) -> Json:
    """One of Envoy's extensions, by its name and the type of its configuration."""
    return {"name": name, "typed_config": typed(kind, config or {})}


def typed(kind: str, config: Json) -> Json:
    """A message of Envoy's API where any may stand."""
    return {TYPE: f"{API}.{kind}", **config}


def at(address: Address) -> Json:
    """An address as Envoy writes it."""
    return {"socket_address": {"address": address.host, "port_value": address.port}}
