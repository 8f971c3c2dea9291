"""Operators' way in: a pod that somebody starts, from which okeyctl reaches every service."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

import pytest

from okey_runtime.dialling import DialSettings
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from tests.deploy.code import SERVICES
from tests.deploy.manifests import DEPLOY, Manifest, Platform, Workload, build, name_of, part
from tests.deploy.starting import MOUNTED
from tests.fixtures.apps import app_of
from tests.fixtures.certificates import Authority
from tests.fixtures.issuer import Issuer
from tools.manifests.edges import Edges

OKEYCTL: Final = Path(sys.executable).with_name("okeyctl")
TOKEN_FILE: Final = "OKEY_OPERATOR_TOKEN_FILE"


@pytest.fixture(params=["prod", "staging"])
def manifests(request: pytest.FixtureRequest) -> list[Manifest]:
    return build(DEPLOY / "overlays" / str(request.param))


def operator_of(manifests: list[Manifest]) -> Workload:
    return Platform.read(manifests).workloads["operator"]


def test_no_operators_pod_runs_by_itself_or_for_ever(manifests: list[Manifest]) -> None:
    [form] = [one for one in manifests if one["kind"] == "CronJob"]
    job = part(form, "spec", "jobTemplate", "spec")

    assert part(form, "spec")["suspend"] is True
    assert job["activeDeadlineSeconds"] == 4 * 3_600
    assert job["backoffLimit"] == 0
    assert job["ttlSecondsAfterFinished"] == 300


def test_the_pod_is_nobody_else(manifests: list[Manifest]) -> None:
    """Its account is its own, no Service leads to it, and the policy of its name selects it."""
    platform, operator = Platform.read(manifests), operator_of(manifests)
    labels = operator.spec.template.metadata.labels
    policies = {
        name_of(one): part(one, "spec", "podSelector").get("matchLabels", {})
        for one in manifests
        if one["kind"] == "NetworkPolicy"
    }
    selecting = {
        name
        for name, wanted in policies.items()
        if wanted and cast("dict[str, str]", wanted).items() <= labels.items()
    }

    assert operator.pod.service_account_name == "operator"
    assert "operator" in platform.accounts
    assert [
        name
        for name, one in platform.services.items()
        if one.spec.selector.items() <= labels.items()
    ] == []
    assert selecting == {"operator"}


def test_it_may_call_every_service_and_nothing_else() -> None:
    edges = Edges.read(DEPLOY / "edges.yaml")

    assert set(edges.grpc["operator"]) == set(SERVICES)
    assert edges.databases_of("operator") == []
    assert "operator" not in edges.services


def test_it_knows_the_way_to_every_service(manifests: list[Manifest]) -> None:
    variables = Platform.read(manifests).environment(operator_of(manifests))

    assert {
        name.removeprefix("OKEY_").removesuffix("_ADDRESS").lower(): address
        for name, address in variables.items()
        if name.endswith("_ADDRESS")
    } == {name: f"dns:///{name}:7400" for name in SERVICES}


def test_its_files_are_mounted_where_it_looks_for_them(
    manifests: list[Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = operator_of(manifests)
    variables = Platform.read(manifests).environment(operator)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    dialled = DialSettings()
    secret = {volume.name for volume in operator.pod.volumes if volume.holds_secrets}
    mounted = {
        Path(one.mount_path) for one in operator.container.volume_mounts if one.name in secret
    }
    files = {dialled.tls_ca_file, dialled.tls_cert_file, dialled.tls_key_file}
    [certificate] = [one for one in operator.pod.volumes if one.name == "tls"]
    [signed] = [
        part(one, "spec")
        for one in manifests
        if one["kind"] == "Certificate" and name_of(one) == "operator"
    ]

    assert {file.parent for file in files if file} | {Path(variables[TOKEN_FILE])} == mounted
    assert None not in files
    assert dialled.tls_engine_name == "engine"
    assert certificate.secret is not None
    assert certificate.secret.secret_name == signed["secretName"]


@pytest.mark.system
@pytest.mark.timeout(60)
async def test_okeyctl_in_the_pod_is_let_in_by_a_service_that_wants_certificates(
    tmp_path: Path,
) -> None:
    """With the pod's variables; localhost stands for the service's name."""
    authority, issuer = Authority(tmp_path), Issuer(tmp_path)
    files = authority.issue("wallet", "localhost").settings()
    url = f"sqlite:///{tmp_path}/wallet.db"
    certificates = {"tls_require_client_cert": True, "tls_roles": "operator=operator"}
    app = app_of("wallet", issuer, tmp_path, url, **certificates, **files)
    lay_out(tmp_path, authority, issuer)
    manifests = build(DEPLOY / "overlays" / "prod")
    variables = Platform.read(manifests).environment(operator_of(manifests))

    async with ServiceServer(app) as server:
        port = server.address.rpartition(":")[2]
        given = {
            name: value.replace(MOUNTED, str(tmp_path)).replace("wallet:7400", f"localhost:{port}")
            for name, value in variables.items()
        }
        told = await okeyctl(given, "wallet", "balance", "system:issuance")
        refused = await okeyctl(without_certificate(given), "wallet", "balance", "system:issuance")

    assert told[0] == 0, told
    assert "system:issuance" in told[1]
    assert refused[0] == 2, refused


def lay_out(folder: Path, authority: Authority, issuer: Issuer) -> None:
    """Certificate and token in the folders in which the pod has them."""
    made = authority.issue("operator", "operator")
    (folder / "tls").mkdir()
    for name, file in (("tls.crt", made.cert), ("tls.key", made.key), ("ca.crt", made.ca)):
        (folder / "tls" / name).write_bytes(file.read_bytes())
    (folder / "tls" / "tls.key").chmod(0o440)
    (folder / "operator-token").mkdir()
    for service in SERVICES:
        token = issuer.token("ops", [Role.OPERATOR], to=service)
        (folder / "operator-token" / f"{service}.token").write_text(token)


def without_certificate(variables: Mapping[str, str]) -> dict[str, str]:
    own = ("OKEY_TLS_CERT_FILE", "OKEY_TLS_KEY_FILE")
    return {name: value for name, value in variables.items() if name not in own}


async def okeyctl(variables: Mapping[str, str], *arguments: str) -> tuple[int, str]:
    """Its status and all that it says."""
    process = await asyncio.create_subprocess_exec(
        *(str(OKEYCTL), *arguments),
        env={**variables, "PATH": os.environ["PATH"]},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()
