"""The dev overlay's tokens: its services trust them, and each token says who it should."""

import json
from pathlib import Path

import pytest

from deploy.overlays.dev import tokens
from okey_runtime.audiences import Audiences
from okey_runtime.auth import JwksFile, Role, TokenVerifier
from okey_runtime.clock import SystemClock
from services.standalone.tokens import CALLED_BY
from tests.deploy.manifests import DEPLOY, Platform, build


@pytest.fixture(autouse=True)
def _own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def verifier(folder: Path, jwks: str, service: str) -> TokenVerifier:
    platform = Platform.read(build(DEPLOY / "overlays" / "dev"))
    file = folder / "jwks.json"
    file.write_text(jwks)
    issuer = platform.environment(platform.workloads["engine"])["OKEY_TOKEN_ISSUER"]
    audiences = Audiences([service])
    return TokenVerifier(
        JwksFile(file), issuer=issuer, audiences=audiences, skew_ms=0, clock=SystemClock()
    )


@pytest.mark.parametrize("role", tokens.CALLERS)
def test_a_service_shows_each_callee_the_role_it_has(role: Role, tmp_path: Path) -> None:
    made = tokens.secrets(tokens.cluster_key(), SystemClock())
    shown = made[f"{role}-service-token"]

    assert shown.keys() == {f"{callee}.token" for callee in CALLED_BY[role]}
    for name, token in shown.items():
        callee = name.removesuffix(".token").replace("peer", "engine")
        found = verifier(tmp_path, made["okey-jwks"]["jwks.json"], callee).verify(token)
        assert found.roles == {role}


def test_a_player_gets_a_token_that_the_overlay_trusts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens.main(["--player", "ali"])
    token = capsys.readouterr().out.strip()
    made = tokens.secrets(tokens.cluster_key(), SystemClock())

    found = verifier(tmp_path, made["okey-jwks"]["jwks.json"], "lobby").verify(token)

    assert found.subject == "ali"
    assert found.roles == {Role.PLAYER}


def test_jwks_holds_no_private_key() -> None:
    made = tokens.secrets(tokens.cluster_key(), SystemClock())

    [key] = json.loads(made["okey-jwks"]["jwks.json"])["keys"]
    assert "d" not in key


def test_every_secret_that_pods_mount_is_generated_or_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    platform = Platform.read(build(DEPLOY / "overlays" / "dev"))
    tokens.main([])
    printed = json.loads(capsys.readouterr().out)["items"]

    mounted = {
        volume.secret.secret_name
        for workload in platform.workloads.values()
        for volume in workload.pod.volumes
        if volume.secret is not None
    }

    assert {one["metadata"]["namespace"] for one in printed} == {"okey-dev"}
    assert mounted - set(platform.secrets) == {one["metadata"]["name"] for one in printed}
