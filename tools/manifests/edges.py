"""NetworkPolicies from deploy/edges.yaml: all is denied, then each edge is let through."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Final

import yaml

_PORTS: Final = {"grpc": 7400, "https": 8443, "metrics": 7420, "postgres": 5432, "redis": 6379}
_NAME: Final = "app.kubernetes.io/name"
_PART: Final = {"app.kubernetes.io/part-of": "okey"}
_ROLE: Final = "okey/role"
"""Label of pods or namespaces that are not ours, with the name from the edges."""


@dataclass(frozen=True)
class Names:
    """Where DNS is asked: the pods of a namespace, or a block of addresses (CIDR)."""

    port: int
    namespace: str = ""
    address: str = ""

    def __post_init__(self) -> None:
        if bool(self.namespace) == bool(self.address):
            raise ValueError(f"{self} needs a namespace or an address, and not both")
        if self.address:
            ip_network(self.address)

    def egress(self) -> dict[str, object]:
        """What lets pods ask there, by UDP and by TCP."""
        to = _anywhere(self.namespace) if self.namespace else {"ipBlock": {"cidr": self.address}}
        return {"to": [to], "ports": [_port(self.port, "UDP"), _port(self.port)]}


@dataclass(frozen=True)
class Edges:
    """Who calls whom, by name."""

    grpc: Mapping[str, tuple[str, ...]]
    databases: Mapping[str, tuple[str, ...]]
    outside: tuple[str, ...] = ()
    """Who is called from anywhere."""
    uncalled: tuple[str, ...] = ()
    """Whose pods of ours call and are called by nobody."""
    names: tuple[Names, ...] = ()
    """Where every pod may ask for names."""

    @classmethod
    def read(cls, file: Path) -> "Edges":
        """Raises ``TypeError``, ``KeyError`` or ``ValueError`` where the file has another shape."""
        content = yaml.safe_load(file.read_text("utf-8"))
        grpc, databases = ({k: tuple(v) for k, v in content[part].items()} for part in _PARTS)
        outside, uncalled = (tuple(content.get(part, ())) for part in ("outside", "uncalled"))
        names = tuple(Names(**each) for each in content["names"])
        return cls(grpc, databases, outside, uncalled, names)

    @property
    def services(self) -> list[str]:
        """Ours, sorted: whoever is called by gRPC."""
        return sorted({callee for callees in self.grpc.values() for callee in callees})

    @property
    def jobs(self) -> list[str]:
        """Ours that nobody calls, sorted: whoever uses a database and is no service."""
        users = {user for users in self.databases.values() for user in users}
        return sorted(users - set(self.services))

    @property
    def ours(self) -> set[str]:
        """Whose pods are selected by their names; everybody else's have a role."""
        return {*self.services, *self.jobs, *self.outside, *self.uncalled}

    def callers(self, service: str) -> list[str]:
        """Who may call the service."""
        return sorted(caller for caller, callees in self.grpc.items() if service in callees)

    def databases_of(self, service: str) -> list[str]:
        """Which databases the service uses."""
        return sorted(name for name, users in self.databases.items() if service in users)


_PARTS: Final = ("grpc", "databases")


def policies(edges: Edges) -> list[dict[str, object]]:
    """The policies of a namespace in which the platform runs."""
    deny: dict[str, object] = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    names: dict[str, object] = {
        # Every pod asks the cluster's DNS.
        "podSelector": {},
        "policyTypes": ["Egress"],
        "egress": [each.egress() for each in edges.names],
    }
    return [
        _policy("default-deny", deny),
        _policy("names", names),
        *(_policy(service, _of_service(edges, service)) for service in edges.services),
        *(_policy(job, _of_uncalled(edges, job)) for job in edges.jobs),
        *(_policy(name, _of_front(edges, name)) for name in edges.outside),
        *(_policy(name, _of_uncalled(edges, name)) for name in edges.uncalled),
    ]


def _of_service(edges: Edges, service: str) -> dict[str, object]:
    return {
        "podSelector": {"matchLabels": {_NAME: service, **_PART}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [
            {
                "from": [peer for name in edges.callers(service) for peer in _peers(edges, name)],
                "ports": [_at("grpc")],
            },
            {"from": _others("prometheus"), "ports": [_at("metrics")]},
        ],
        "egress": _to_services(edges, service) + _to_databases(edges, service),
    }


def _of_front(edges: Edges, name: str) -> dict[str, object]:
    return {
        "podSelector": {"matchLabels": {_NAME: name, **_PART}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [
            {"ports": [_at("https")]},
            {"from": _others("prometheus"), "ports": [_at("metrics")]},
        ],
        "egress": _to_services(edges, name),
    }


def _of_uncalled(edges: Edges, name: str) -> dict[str, object]:
    return {
        "podSelector": {"matchLabels": {_NAME: name, **_PART}},
        "policyTypes": ["Ingress", "Egress"],
        "egress": _to_services(edges, name) + _to_databases(edges, name),
    }


def _to_services(edges: Edges, caller: str) -> list[dict[str, object]]:
    return [_to(callee, "grpc") for callee in edges.grpc.get(caller, ())]


def _to_databases(edges: Edges, user: str) -> list[dict[str, object]]:
    return [{"to": _others(name), "ports": [_at(name)]} for name in edges.databases_of(user)]


def _peers(edges: Edges, caller: str) -> list[dict[str, object]]:
    return [_pods(caller)] if caller in edges.ours else _others(caller)


def _to(callee: str, port: str) -> dict[str, object]:
    return {"to": [_pods(callee)], "ports": [_at(port)]}


def _pods(service: str) -> dict[str, object]:
    return {"podSelector": {"matchLabels": {_NAME: service, **_PART}}}


def _others(role: str) -> list[dict[str, object]]:
    """Pods with the label here, or in a namespace that has it."""
    labelled = {"matchLabels": {_ROLE: role}}
    return [{"podSelector": labelled}, {"namespaceSelector": labelled}]


def _anywhere(namespace: str) -> dict[str, object]:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}


def _at(name: str) -> dict[str, object]:
    return _port(_PORTS[name])


def _port(number: int, protocol: str = "TCP") -> dict[str, object]:
    return {"protocol": protocol, "port": number}


def _policy(name: str, spec: dict[str, object]) -> dict[str, object]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "labels": _PART},
        "spec": spec,
    }
