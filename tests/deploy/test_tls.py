"""The TLS component: every service gets a certificate, and reads what the component sets."""

import os
from pathlib import Path

import pytest

from okey_runtime.identity import Role
from okey_runtime.tls_roles import parse_roles
from tests.deploy.code import SERVICES, settings_class
from tests.deploy.manifests import DEPLOY, Platform, build

OVERLAY = """apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [{base}]
components: [{tls}]
configMapGenerator:
  - name: okey-common
    behavior: merge
    literals: [OKEY_TOKEN_ISSUER=https://login.example]
"""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Platform:
    folder = tmp_path_factory.mktemp("overlay")
    base, tls = (os.path.relpath(DEPLOY / part, folder) for part in ("base", "components/tls"))
    (folder / "kustomization.yaml").write_text(OVERLAY.format(base=base, tls=tls))
    return Platform.read(build(folder))


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_takes_and_makes_calls_over_mutual_tls(
    service: str, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = platform.workloads[service]
    for name, value in platform.environment(workload).items():
        if name != "OKEY_SECRETS_DIR":
            monkeypatch.setenv(name, value)
    # Its secret gives the ledger's key; no file is opened here.
    monkeypatch.setenv("OKEY_CHAIN_KEY_FILE", "/var/run/okey/secrets/chain-key.json")
    settings = settings_class(service).read()
    [volume] = [one for one in workload.pod.volumes if one.name == "tls"]
    [mount] = [one for one in workload.container.volume_mounts if one.name == "tls"]
    files = (settings.tls_cert_file, settings.tls_key_file, settings.tls_ca_file)

    assert not settings.allow_plaintext
    assert settings.tls_require_client_cert
    assert parse_roles(settings.tls_roles) == {
        name: {Role(name)} for name in {*SERVICES, "gateway", "operator"}
    }
    assert not settings.tls_roles_alone
    assert volume.secret is not None
    assert volume.secret.secret_name == f"{service}-tls"
    assert {file and file.parent for file in files} == {Path(mount.mount_path)}
