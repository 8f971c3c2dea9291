"""The reference gateway's manifests beside those of an environment: valid, and as the code says."""

import os

import pytest
import yaml

from okey_runtime.environment import SettingsRefused
from services.gateway.settings import GatewaySettings
from tests.deploy.code import variables_of
from tests.deploy.manifests import DEPLOY, Manifest, Platform, build
from tests.deploy.test_kustomize import MINORS, validate
from tests.deploy.test_policies import SPOILED
from tests.deploy.wiring import Policy

CALLED = ("lobby", "engine", "wallet", "rating")


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> list[Manifest]:
    """As an overlay that adds the gateway builds them."""
    folder = tmp_path_factory.mktemp("overlay")
    used = [DEPLOY / "base", DEPLOY / "base" / "gateway"]
    overlay = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": "okey-test",
        "resources": [os.path.relpath(each, folder.resolve()) for each in used],
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
