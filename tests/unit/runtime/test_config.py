from pathlib import Path

import pytest
from okey_runtime.config import DEV_ISSUER, Environment, ServiceSettings, refuse_in_production
from pydantic import ValidationError, model_validator


class FastSettings(ServiceSettings):
    time_scale: float = 1.0
    _test_only = model_validator(mode="after")(refuse_in_production("time_scale"))


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENVIRONMENT", "JWKS_FILE", "TOKEN_ISSUER", "SECRETS_DIR", "DATABASE_URL"):
        monkeypatch.delenv(f"OKEY_{name}", raising=False)


def production(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OKEY_JWKS_FILE", "/keys/jwks.json")
    monkeypatch.setenv("OKEY_TOKEN_ISSUER", "https://login.example")


def test_a_forgotten_environment_means_production(monkeypatch: pytest.MonkeyPatch) -> None:
    production(monkeypatch)
    assert ServiceSettings.load().environment is Environment.PRODUCTION


def test_production_does_not_start_without_a_jwks_file(monkeypatch: pytest.MonkeyPatch) -> None:
    production(monkeypatch)
    monkeypatch.delenv("OKEY_JWKS_FILE")
    with pytest.raises(ValidationError, match="OKEY_JWKS_FILE"):
        ServiceSettings.load()


def test_production_refuses_the_development_issuer(monkeypatch: pytest.MonkeyPatch) -> None:
    production(monkeypatch)
    monkeypatch.setenv("OKEY_TOKEN_ISSUER", DEV_ISSUER)
    with pytest.raises(ValidationError, match="development issuer"):
        ServiceSettings.load()


def test_standalone_starts_with_the_development_issuer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OKEY_ENVIRONMENT", "standalone")
    assert ServiceSettings.load().token_issuer == DEV_ISSUER


def test_production_refuses_a_test_only_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    production(monkeypatch)
    monkeypatch.setenv("OKEY_TIME_SCALE", "0.01")
    with pytest.raises(ValidationError, match="OKEY_TIME_SCALE is for tests only"):
        FastSettings.load()


def test_a_test_only_setting_works_outside_production(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OKEY_ENVIRONMENT", "test")
    monkeypatch.setenv("OKEY_TIME_SCALE", "0.01")
    assert FastSettings.load().time_scale == 0.01


def test_production_starts_while_a_test_only_setting_keeps_its_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    production(monkeypatch)
    monkeypatch.setenv("OKEY_TIME_SCALE", "1.0")
    assert FastSettings.load().time_scale == 1.0


def test_secrets_are_read_from_files_and_never_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OKEY_ENVIRONMENT", "test")
    monkeypatch.setenv("OKEY_SECRETS_DIR", str(tmp_path))
    (tmp_path / "okey_database_url").write_text("postgresql://okey:hunter2@db/okey")
    settings = ServiceSettings.load()
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "postgresql://okey:hunter2@db/okey"
    assert "hunter2" not in repr(settings) + str(settings) + settings.model_dump_json()


def test_an_error_in_the_settings_quotes_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OKEY_DATABASE_URL", "postgresql://okey:hunter2@db/okey")
    monkeypatch.setenv("OKEY_LISTEN_PORT", "hunter3")
    with pytest.raises(ValidationError) as failure:
        ServiceSettings.load()
    assert "listen_port" in str(failure.value)
    assert "hunter" not in str(failure.value)
