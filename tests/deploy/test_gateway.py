"""The reference gateway's manifests beside those of an environment: valid, and as the code says."""

import os
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from okey_runtime.environment import SettingsRefused
from services.gateway.settings import GatewaySettings
from tests.deploy.code import variables_of
from tests.deploy.manifests import DEPLOY, Manifest, Platform, build, name_of, part
from tests.deploy.mutation import Mutation, drop, put
from tests.deploy.test_kustomize import MINORS, validate
from tests.deploy.test_policies import SPOILED
from tests.deploy.wiring import Policy

CALLED = ("lobby", "engine", "wallet", "rating")


def built(folder: Path, *components: str) -> list[Manifest]:
    """As an overlay with the gateway and these components builds them."""
    folder = folder.resolve()
    overlay = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": "okey-test",
        "resources": [os.path.relpath(DEPLOY / each, folder) for each in ("base", "base/gateway")],
        "components": [
            os.path.relpath(DEPLOY / "components" / each, folder) for each in components
        ],
        "configMapGenerator": [
            {
                "name": "okey-common",
                "behavior": "merge",
                "literals": ["OKEY_TOKEN_ISSUER=https://id.example.com/"],
            }
        ],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    return build(folder)


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> list[Manifest]:
    """With mutual TLS."""
    folder = tmp_path_factory.mktemp("encrypted")
    return built(folder, "tls", "certificates", "gateway-tls")


@pytest.fixture(scope="module", params=["plain", "encrypted"])
def manifests(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    encrypted: list[Manifest],
) -> list[Manifest]:
    """As an overlay that adds the gateway builds them, without and with mutual TLS."""
    return encrypted if request.param == "encrypted" else built(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def platform(manifests: list[Manifest]) -> Platform:
    """The same, read."""
    return Platform.read(manifests)


@pytest.mark.parametrize("minor", [MINORS[0], MINORS[-1]])
def test_they_are_strictly_valid(manifests: list[Manifest], minor: str) -> None:
    validate(manifests, minor)


def test_the_gateway_starts_with_the_settings_of_its_pod(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = platform.workloads["gateway"]
    variables = platform.environment(workload)
    assert variables.keys() <= variables_of("gateway")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = GatewaySettings.read()
    assert settings.is_production
    assert settings.gateway_port == workload.container.port("http")
    assert settings.health_port == workload.container.port("health")
    assert (settings.listen_port, settings.metrics_port) == (
        workload.container.port("grpc"),
        workload.container.port("metrics"),
    )
    monkeypatch.setenv("OKEY_GATEWAY_GUEST_KEY_FILE", "/dev/null")
    with pytest.raises(SettingsRefused, match="OKEY_GATEWAY_GUEST_KEY_FILE is for tests only"):
        GatewaySettings.read()


def test_it_calls_services_that_are_there_and_they_let_it_in(
    manifests: list[Manifest], platform: Platform
) -> None:
    workload = platform.workloads["gateway"]
    variables = platform.environment(workload)
    for name in CALLED:
        [port] = [one.port for one in platform.services[name].spec.ports if one.name == "grpc"]
        assert variables[f"OKEY_{name.upper()}_ADDRESS"] == f"dns:///{name}:{port}"
    assert workload.spec.template.metadata.labels["okey/role"] == "gateway"
    edges = yaml.safe_load((DEPLOY / "edges.yaml").read_text("utf-8"))
    assert tuple(edges["grpc"]["gateway"]) == CALLED
    [policy] = [one for one in manifests if one["kind"] == "NetworkPolicy"]
    assert str(sorted(CALLED)) == str(sorted(_callees(policy)))


def _callees(policy: Manifest) -> list[str]:
    spec = policy["spec"]
    assert isinstance(spec, dict)
    found: list[str] = []
    for rule in yaml.safe_load(yaml.safe_dump(spec["egress"])):
        for peer in rule["to"]:
            for one in peer.get("podSelector", {}).get("matchExpressions", []):
                found += one["values"]
    return found


@pytest.mark.parametrize("policy", SPOILED, ids=lambda policy: policy.__name__)
def test_every_policy_holds_with_it(platform: Platform, policy: Policy) -> None:
    assert policy(platform) == []


def gateway_is_known_by_its_certificate(manifests: list[Manifest]) -> list[str]:
    """Its pod mounts what was signed for its name, and reads its files there; for both ends of
    connections, since it calls services and is called by the ingress.
    """
    platform = Platform.read(manifests)
    workload = platform.workloads["gateway"]
    [signed] = [
        part(one, "spec")
        for one in manifests
        if one["kind"] == "Certificate" and name_of(one) == "gateway"
    ]
    [volume] = [one for one in workload.pod.volumes if one.name == "tls"]
    [mount] = [one for one in workload.container.volume_mounts if one.name == "tls"]
    variables = platform.environment(workload)
    files = [variables.get(f"OKEY_TLS_{each}_FILE", "") for each in ("CERT", "KEY", "CA")]
    secret = volume.secret and volume.secret.secret_name
    faults = []
    if secret != signed["secretName"]:
        faults.append(f"it mounts {secret}, and {signed['secretName']} is signed")
    if signed["dnsNames"] != ["gateway"]:
        faults.append(f"the ingress calls it by another name than {signed['dnsNames']}")
    if signed["usages"] != ["server auth", "client auth"]:
        faults.append(f"its certificate is good for {signed['usages']} only")
    if [os.path.dirname(each) for each in files] != [mount.mount_path] * 3:
        faults.append(f"it reads {files}, and its certificate is in {mount.mount_path}")
    return faults


def ingress_is_told_to_call_it_by_tls(manifests: list[Manifest]) -> list[str]:
    """The browsers' port speaks what the Service says."""
    platform = Platform.read(manifests)
    has_tls = "OKEY_TLS_CERT_FILE" in platform.environment(platform.workloads["gateway"])
    wanted = ("https", 443, "https") if has_tls else ("http", 80, "http")
    [service] = [
        part(one, "spec")
        for one in manifests
        if one["kind"] == "Service" and name_of(one) == "gateway"
    ]
    ports = yaml.safe_load(yaml.safe_dump(service["ports"]))
    said = [(one["name"], one["port"], one.get("appProtocol")) for one in ports]
    return [] if wanted in said else [f"its Service says {said}, not {wanted}"]


ENCRYPTION: dict[Callable[[list[Manifest]], list[str]], tuple[Mutation, ...]] = {
    gateway_is_known_by_its_certificate: (
        put("Certificate/gateway", "spec/secretName", "gate-tls"),
        put("Certificate/gateway", "spec/dnsNames", ["lobby"]),
        put("Certificate/gateway", "spec/usages", ["server auth"]),
        put("ConfigMap/okey-common", "data/OKEY_TLS_KEY_FILE", "/etc/key.pem"),
        drop("ConfigMap/okey-common", "data/OKEY_TLS_CA_FILE"),
    ),
    ingress_is_told_to_call_it_by_tls: (
        put("Service/gateway", "spec/ports/0/appProtocol", "http"),
        drop("ConfigMap/okey-common", "data/OKEY_TLS_CERT_FILE"),
    ),
}


@pytest.mark.parametrize("policy", ENCRYPTION, ids=lambda policy: policy.__name__)
def test_its_encryption_is_whole(
    encrypted: list[Manifest], policy: Callable[[list[Manifest]], list[str]]
) -> None:
    assert policy(encrypted) == []
    for mutation in ENCRYPTION[policy]:
        spoiled = deepcopy(encrypted)
        mutation(spoiled)
        assert policy(spoiled) != []


def test_without_certificates_the_ingress_calls_it_by_http(tmp_path: Path) -> None:
    assert ingress_is_told_to_call_it_by_tls(built(tmp_path)) == []


def test_it_asks_the_ingress_for_no_certificate_and_shows_the_services_its_own(
    encrypted: list[Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = Platform.read(encrypted)
    for name, value in platform.environment(platform.workloads["gateway"]).items():
        monkeypatch.setenv(name, value)
    settings = GatewaySettings.read()
    assert settings.tls_require_client_cert  # of its gRPC port; browsers' is HTTPS alone
    assert not settings.allow_plaintext
    assert settings.tls_engine_name == "engine"
    assert settings.tls_cert_file is not None
    assert settings.tls_ca_file is not None
