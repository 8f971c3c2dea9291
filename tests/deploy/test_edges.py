"""The matrix of edges is who really calls whom, and the NetworkPolicies let just that through."""

from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from okey_runtime.allowlist import HOMES
from tests.deploy.code import SERVICES, settings_class
from tests.deploy.manifests import DEPLOY, Platform, build
from tools.manifests.edges import Edges, policies

EDGES: Final = Edges.read(DEPLOY / "edges.yaml")


def called_by(service: str) -> set[str]:
    """Whose address the service's settings ask for; engines also call each other."""
    fields = settings_class(service).model_fields
    found = {name.removesuffix("_address") for name in fields if name.endswith("_address")}
    return (found & set(SERVICES)) | ({"engine"} if service == "engine" else set())


@pytest.mark.parametrize("service", SERVICES)
def test_edges_are_the_clients_that_the_code_has(service: str) -> None:
    assert set(EDGES.grpc.get(service, ())) == called_by(service)


@pytest.mark.parametrize("service", SERVICES)
def test_databases_are_those_that_the_service_is_given(service: str) -> None:
    """By the URLs among the secrets that the dev overlay brings."""
    platform = Platform.read(build(DEPLOY / "overlays" / "dev"))
    volumes = platform.workloads[service].pod.volumes
    given = {
        key
        for volume in volumes
        if volume.secret and volume.secret.secret_name in platform.secrets
        for key in platform.secrets[volume.secret.secret_name].data
    }
    urls = {"okey_database_url": "postgres", "okey_redis_url": "redis"}

    assert set(EDGES.databases_of(service)) == {urls[key] for key in given if key in urls}


def test_envoy_reaches_whom_it_carries_calls_to() -> None:
    assert set(EDGES.grpc["edge"]) == set(HOMES)
    assert EDGES.outside == ("edge",)


def test_everything_is_denied_first() -> None:
    [deny] = [one for one in policies(EDGES) if one["metadata"] == metadata("default-deny")]

    assert deny["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_each_edge_is_open_at_both_ends(tmp_path: Path) -> None:
    file = tmp_path / "edges.yaml"
    file.write_text("names: []\ngrpc:\n  a: [b]\n  gateway: [b]\ndatabases:\n  redis: [b]\n")
    [_, _, b] = policies(Edges.read(file))
    text = str(b["spec"])

    # `a` is nobody that is called, so it is one of the others, as the gateway is.
    for role in ("a", "gateway", "prometheus", "redis"):
        assert f"{{'okey/role': '{role}'}}" in text
    assert text.count("6379") == 1
    assert text.count("7420") == 1


def may_ask(address: str, namespace: str, port: int) -> bool:
    """Whether the policies in deploy/ let a pod ask a DNS server, which has no namespace where it
    is on its node's own network.
    """
    text = (DEPLOY / "components" / "network-policies" / "policies.yaml").read_text("utf-8")
    [names] = [one for one in yaml.safe_load_all(text) if one["metadata"] == metadata("names")]
    assert names["spec"]["podSelector"] == {}
    return any(
        reaches(peer, address, namespace)
        and all(
            {"protocol": protocol, "port": port} in rule["ports"] for protocol in ("UDP", "TCP")
        )
        for rule in names["spec"]["egress"]
        for peer in rule["to"]
    )


def reaches(peer: dict[str, Any], address: str, namespace: str) -> bool:
    if "ipBlock" in peer:
        return ip_address(address) in ip_network(peer["ipBlock"]["cidr"])
    labels = {"kubernetes.io/metadata.name": namespace}
    return bool(peer == {"namespaceSelector": {"matchLabels": labels}})


@pytest.mark.parametrize(
    ("address", "namespace", "port"),
    [
        pytest.param("10.244.0.2", "kube-system", 53, id="coredns"),
        pytest.param("169.254.20.10", "", 53, id="node-local-cache"),
        pytest.param("10.128.0.9", "openshift-dns", 5353, id="openshift"),
    ],
)
def test_every_pod_may_ask_for_names(address: str, namespace: str, port: int) -> None:
    assert may_ask(address, namespace, port)


@pytest.mark.parametrize(
    ("address", "namespace", "port"),
    [
        pytest.param("169.254.169.254", "", 53, id="metadata-of-the-cloud"),
        pytest.param("169.254.20.10", "", 80, id="another-port"),
        pytest.param("10.244.0.9", "default", 53, id="another-namespace"),
    ],
)
def test_no_pod_may_ask_elsewhere(address: str, namespace: str, port: int) -> None:
    assert not may_ask(address, namespace, port)


@pytest.mark.parametrize(
    "wrong",
    ["{port: 53}", "{port: 53, namespace: a, address: 10.0.0.1/32}", "{port: 53, address: a}"],
)
def test_a_place_of_names_that_is_none_is_refused(wrong: str, tmp_path: Path) -> None:
    file = tmp_path / "edges.yaml"
    file.write_text(f"names: [{wrong}]\ngrpc: {{}}\ndatabases: {{}}\n")
    with pytest.raises(ValueError, match=r"needs a namespace or an address|does not appear to be"):
        Edges.read(file)


def metadata(name: str) -> dict[str, object]:
    return {"name": name, "labels": {"app.kubernetes.io/part-of": "okey"}}
