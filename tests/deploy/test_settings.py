"""Each service reads its settings from what the manifests give it, as it does in its pod."""

import base64
from pathlib import Path

import pytest
from pydantic import SecretStr

from okey_runtime.config import Environment, ServiceSettings
from okey_runtime.environment import SettingsRefused
from services.lobby.settings import LobbySettings
from tests.deploy.code import SERVICES, settings_class
from tests.deploy.manifests import DEPLOY, Platform, build

DEV = DEPLOY / "overlays" / "dev"


def load(
    service: str, platform: Platform, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> ServiceSettings:
    """The settings in the pod's environment, its secrets laid out in the folder."""
    workload = platform.workloads[service]
    variables = platform.environment(workload)
    for volume in workload.pod.volumes:
        secret = volume.secret and platform.secrets.get(volume.secret.secret_name)
        if volume.name == "secrets" and secret:
            for key, value in secret.data.items():
                (folder / key).write_bytes(base64.b64decode(value))
    if "OKEY_SECRETS_DIR" in variables:
        variables["OKEY_SECRETS_DIR"] = str(folder)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return settings_class(service).read()


@pytest.mark.parametrize("service", SERVICES)
def test_dev_overlay_gives_production_all_it_asks_for(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = Platform.read(build(DEV))
    settings = load(service, platform, tmp_path, monkeypatch)

    probe = platform.workloads[service].container.readiness_probe
    assert settings.environment is Environment.PRODUCTION
    assert probe is not None
    assert probe.grpc is not None
    assert settings.health_port == probe.grpc.port
    assert 0 not in (settings.listen_port, settings.metrics_port)


@pytest.mark.parametrize("service", SERVICES)
def test_base_alone_is_refused_because_nobody_issues_tokens(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = Platform.read(build(DEPLOY / "base"))

    with pytest.raises(SettingsRefused, match="OKEY_TOKEN_ISSUER"):
        load(service, platform, tmp_path, monkeypatch)


@pytest.mark.parametrize("service", ["engine", "wallet", "rating"])
def test_each_database_is_its_service_own(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load(service, Platform.read(build(DEV)), tmp_path, monkeypatch)

    url = secret(settings.database_url)
    assert url == f"postgresql://{service}:dev-only@postgres:5432/{service}"
    assert f" {service}" in (DEV / "databases.sh").read_text().partition("\nfor ")[2].split(";")[0]


def test_dev_databases_take_the_password_that_their_urls_carry() -> None:
    postgres = next(
        one
        for name, one in Platform.read(build(DEV)).secrets.items()
        if name.startswith("postgres-")
    )

    assert base64.b64decode(postgres.data["password"]) == b"dev-only"


def test_the_lobby_finds_the_dev_valkey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    platform = Platform.read(build(DEV))
    settings = load("lobby", platform, tmp_path, monkeypatch)

    assert isinstance(settings, LobbySettings)
    port = platform.services["valkey"].spec.ports[0].port
    assert secret(settings.redis_url) == f"redis://valkey:{port}/0"


@pytest.mark.parametrize("service", ["engine", "lobby", "wallet", "rating"])
def test_services_that_call_others_have_a_token(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load(service, Platform.read(build(DEV)), tmp_path, monkeypatch)

    assert settings.service_token_dir == Path("/var/run/okey/service-token")
    assert settings.service_token_file == Path("/var/run/okey/service-token/token")


def secret(value: SecretStr | None) -> str:
    assert value is not None
    return value.get_secret_value()
