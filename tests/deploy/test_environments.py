"""What staging and production have beyond the base: certificates, scraping, labels, components."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, cast

import pytest
from pydantic import JsonValue

from okey_runtime.tls_roles import parse_roles
from tests.deploy.code import SERVICES
from tests.deploy.manifests import DEPLOY, Manifest, Platform, Selector, build, name_of, part
from tests.deploy.mutation import CONTAINER, Mutation, drop, put

Policy: TypeAlias = Callable[[list[Manifest]], list[str]]
Part: TypeAlias = dict[str, JsonValue]

ENVIRONMENTS: Final = ("prod", "staging")
SPREAD: Final = tuple(name for name in SERVICES if name != "engine")
"""Callers of these look up the replicas again; an engine leads callers to another one itself."""

ROLES: Final = ("lobby", "engine", "wallet", "rating", "bots", "gateway", "operator")


def of_kind(manifests: list[Manifest], kind: str) -> dict[str, Manifest]:
    return {name_of(one): one for one in manifests if one["kind"] == kind}


def certificates_name_services(manifests: list[Manifest]) -> list[str]:
    """Callers dial a service by its name; engines, dialled by address, by the name that is set; by
    another the edge is known, who says where calls come from.
    """
    names = {
        name: cast("list[str]", part(one, "spec").get("dnsNames", []))
        for name, one in of_kind(manifests, "Certificate").items()
    }
    faults = [f"{name}: not in its certificate" for name in SERVICES if name not in names[name]]
    platform = Platform.read(manifests)
    for name in SERVICES:
        variables = platform.environment(platform.workloads[name])
        for holder, variable in (
            ("engine", "OKEY_TLS_ENGINE_NAME"),
            ("edge", "OKEY_TLS_EDGE_NAME"),
        ):
            if variables.get(variable) not in names[holder]:
                faults.append(f"{name}: takes {variables.get(variable)} for the {holder}")
    return faults


def roles_name_certificates(manifests: list[Manifest]) -> list[str]:
    """Each service, and operators, have their own role by the name in their own certificate; the
    edge, who passes on the calls of others, has none.
    """
    certificates = {
        name: cast("list[str]", part(one, "spec").get("dnsNames", []))
        for name, one in of_kind(manifests, "Certificate").items()
    }
    platform = Platform.read(manifests)
    faults = []
    for name in SERVICES:
        variables = platform.environment(platform.workloads[name])
        roles = parse_roles(variables.get("OKEY_TLS_ROLES", ""))
        for holder, names in certificates.items():
            expected = {holder} if holder in ROLES else set[str]()
            found = set[str]().union(*(roles.get(each, ()) for each in names))
            if found != expected:
                faults.append(f"{name}: takes {holder}'s certificate for {sorted(found)}")
        if variables.get("OKEY_TLS_ROLES_ALONE") != "false":
            faults.append(f"{name}: takes a certificate without a token")
    return faults


def services_are_scraped(manifests: list[Manifest]) -> list[str]:
    """By the port that the monitor names, of the Services that it selects."""
    monitors = of_kind(manifests, "ServiceMonitor")
    if "okey" not in monitors:
        return ["nothing is scraped"]
    spec = part(monitors["okey"], "spec")
    selector = Selector.model_validate(spec["selector"])
    [endpoint] = cast("list[Part]", spec["endpoints"])
    services = Platform.read(manifests).services
    return [
        f"{name}: not scraped"
        for name in (*SERVICES, "edge-metrics")
        if not selector.selects(services[name].metadata.labels)
        or endpoint["port"] not in {port.name for port in services[name].spec.ports}
    ]


def namespaces_are_restricted(manifests: list[Manifest]) -> list[str]:
    """The API server refuses what may more than our pods may."""
    return [
        f"{name}: lets privileged pods in"
        for name, one in of_kind(manifests, "Namespace").items()
        if part(one, "metadata", "labels").get("pod-security.kubernetes.io/enforce") != "restricted"
    ]


def components_are_there(manifests: list[Manifest]) -> list[str]:
    """Network policies that deny by default, and rules that alert."""
    faults = []
    if "default-deny" not in of_kind(manifests, "NetworkPolicy"):
        faults.append("everybody may call everybody")
    rules = {f"okey-{file.stem}" for file in (DEPLOY / "rules").glob("*.yaml")}
    missing = rules - of_kind(manifests, "PrometheusRule").keys()
    return faults + [f"{name}: not loaded" for name in sorted(missing)]


def probes_of_the_edge_ask_its_ports(manifests: list[Manifest]) -> list[str]:
    """Envoy's container names the ports that it listens on."""
    pod = part(of_kind(manifests, "Deployment")["edge"], "spec", "template", "spec")
    [envoy] = cast("list[Part]", pod["containers"])
    ports = {one["containerPort"] for one in cast("list[Part]", envoy["ports"])}
    return [f"it has no port {port}" for port in _probed(envoy) if port not in ports]


def _probed(container: Part) -> Iterator[JsonValue]:
    for probe in ("livenessProbe", "readinessProbe"):
        asked = part(container, probe)
        yield part(asked, "httpGet" if "httpGet" in asked else "tcpSocket")["port"]


def connections_end_at_an_age(manifests: list[Manifest]) -> list[str]:
    """Or new replicas would get no calls from callers that hold their connections."""
    platform = Platform.read(manifests)
    return [
        f"{name}: connections last for ever"
        for name in SPREAD
        if not platform.environment(platform.workloads[name]).get("OKEY_MAX_CONNECTION_AGE_MS")
    ]


SPOILED: Final[dict[Policy, tuple[Mutation, ...]]] = {
    certificates_name_services: (
        put("Certificate/wallet", "spec/dnsNames", ["purse"]),
        put("Certificate/engine", "spec/dnsNames", ["motor"]),
        put("ConfigMap/okey-common", "data/OKEY_TLS_ENGINE_NAME", "motor"),
        drop("ConfigMap/okey-common", "data/OKEY_TLS_ENGINE_NAME"),
        put("Certificate/edge", "spec/dnsNames", ["front"]),
        drop("ConfigMap/okey-common", "data/OKEY_TLS_EDGE_NAME"),
    ),
    roles_name_certificates: (
        put("Certificate/wallet", "spec/dnsNames", ["wallet", "engine"]),
        put("Certificate/edge", "spec/dnsNames", ["lobby"]),
        put("ConfigMap/okey-common", "data/OKEY_TLS_ROLES", "engine=engine"),
        drop("ConfigMap/okey-common", "data/OKEY_TLS_ROLES"),
        drop("ConfigMap/okey-common", "data/OKEY_TLS_ROLES_ALONE"),
    ),
    services_are_scraped: (
        drop("ServiceMonitor/okey"),
        put("ServiceMonitor/okey", "spec/endpoints/0/port", "metric"),
        put("ServiceMonitor/okey", "spec/selector/matchLabels", {"app": "okey"}),
        put("Service/bots", "spec/ports/1/name", "measures"),
    ),
    namespaces_are_restricted: (
        put(
            "Namespace/okey", "metadata/labels", {"pod-security.kubernetes.io/enforce": "baseline"}
        ),
    ),
    components_are_there: (
        drop("NetworkPolicy/default-deny"),
        drop("PrometheusRule/okey-relay"),
    ),
    probes_of_the_edge_ask_its_ports: (
        put("Deployment/edge", f"{CONTAINER}/readinessProbe/httpGet/port", 9901),
        put("Deployment/edge", f"{CONTAINER}/livenessProbe/tcpSocket/port", 1),
    ),
    connections_end_at_an_age: (
        drop("ConfigMap/wallet-settings", "data/OKEY_MAX_CONNECTION_AGE_MS"),
    ),
}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("policy", SPOILED, ids=lambda policy: policy.__name__)
def test_policy_holds(policy: Policy, environment: str) -> None:
    assert policy(build(DEPLOY / "overlays" / environment)) == []


@pytest.mark.parametrize(
    ("policy", "mutation"),
    [(policy, mutation) for policy, mutations in SPOILED.items() for mutation in mutations],
    ids=[f"{policy.__name__}-{n}" for policy in SPOILED for n in range(len(SPOILED[policy]))],
)
def test_policy_sees_what_was_spoiled(policy: Policy, mutation: Mutation) -> None:
    manifests = build(DEPLOY / "overlays" / "prod")

    mutation(manifests)

    assert policy(manifests) != []
