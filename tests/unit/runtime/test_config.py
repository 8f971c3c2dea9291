from pathlib import Path

import pytest
from pydantic import Field, SecretStr, model_validator

from okey_runtime.config import (
    DEV_ISSUER,
    Environment,
    ServiceSettings,
    refuse_in_production,
)
from okey_runtime.environment import SettingsRefused


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
    assert ServiceSettings.read().environment is Environment.PRODUCTION


def test_in_production_a_job_migrates_unless_a_variable_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    production(monkeypatch)
    assert not ServiceSettings.read().migrates_itself
    monkeypatch.setenv("OKEY_MIGRATES", "true")
    assert ServiceSettings.read().migrates_itself
    monkeypatch.delenv("OKEY_MIGRATES")
    monkeypatch.setenv("OKEY_ENVIRONMENT", "test")
    assert ServiceSettings.read().migrates_itself


def test_production_does_not_start_without_a_jwks_file(monkeypatch: pytest.MonkeyPatch) -> None:
    production(monkeypatch)
    monkeypatch.delenv("OKEY_JWKS_FILE")
    with pytest.raises(SettingsRefused, match="OKEY_JWKS_FILE"):
        ServiceSettings.read()


def test_production_refuses_the_development_issuer(monkeypatch: pytest.MonkeyPatch) -> None:
    production(monkeypatch)
    monkeypatch.setenv("OKEY_TOKEN_ISSUER", DEV_ISSUER)
    with pytest.raises(SettingsRefused, match="development issuer"):
        ServiceSettings.read()


def test_standalone_starts_with_the_development_issuer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OKEY_ENVIRONMENT", "standalone")
    assert ServiceSettings.read().token_issuer == DEV_ISSUER


def test_production_refuses_a_test_only_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    production(monkeypatch)
    monkeypatch.setenv("OKEY_TIME_SCALE", "0.01")
    with pytest.raises(SettingsRefused, match="OKEY_TIME_SCALE is for tests only"):
        FastSettings.read()


def test_a_test_only_setting_works_outside_production(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OKEY_ENVIRONMENT", "test")
    monkeypatch.setenv("OKEY_TIME_SCALE", "0.01")
    assert FastSettings.read().time_scale == 0.01


def test_production_starts_while_a_test_only_setting_keeps_its_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    production(monkeypatch)
    monkeypatch.setenv("OKEY_TIME_SCALE", "1.0")
    assert FastSettings.read().time_scale == 1.0


def test_secrets_are_read_from_files_and_never_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OKEY_ENVIRONMENT", "test")
    monkeypatch.setenv("OKEY_SECRETS_DIR", str(tmp_path))
    (tmp_path / "okey_database_url").write_text("postgresql://okey:hunter2@db/okey")
    settings = ServiceSettings.read()
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "postgresql://okey:hunter2@db/okey"
    assert "hunter2" not in repr(settings) + str(settings) + settings.model_dump_json()


class BoundedSettings(ServiceSettings):
    clock_factor: int = Field(default=1, ge=1, le=10_000)
    wallet_address: str


@pytest.mark.parametrize("value", ["abc", "0", "-1", "1.5", "10001", ""])
def test_an_error_names_the_variable_its_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("OKEY_ENVIRONMENT", "test")
    monkeypatch.setenv("OKEY_WALLET_ADDRESS", "wallet:1")
    monkeypatch.setenv("OKEY_CLOCK_FACTOR", value)
    with pytest.raises(SettingsRefused) as refusal:
        BoundedSettings.read()
    told = str(refusal.value)
    assert told.startswith(f"OKEY_CLOCK_FACTOR is {value!r}: it should be ")
    assert told.endswith(" (at least 1, at most 10000)")
    assert "\n" not in told


def test_everything_that_is_wrong_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OKEY_ENVIRONMENT", "moon")
    monkeypatch.setenv("OKEY_LOG_LEVEL", "LOUD")
    with pytest.raises(SettingsRefused) as refusal:
        BoundedSettings.read()
    environment, level, wallet = str(refusal.value).split("; ")
    assert environment.startswith("OKEY_ENVIRONMENT is 'moon': it should be 'standalone', ")
    assert level.startswith("OKEY_LOG_LEVEL is 'LOUD': it should match ")
    assert wallet == "OKEY_WALLET_ADDRESS is not set, and there is no default"


def test_an_error_in_the_settings_quotes_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    class StrictSettings(ServiceSettings):
        database_url: SecretStr | None = Field(default=None, max_length=5)

    monkeypatch.setenv("OKEY_DATABASE_URL", "postgresql://okey:hunter2@db/okey")
    with pytest.raises(SettingsRefused) as refusal:
        StrictSettings.read()
    assert "OKEY_DATABASE_URL is a secret that cannot be used" in str(refusal.value)
    assert "hunter" not in str(refusal.value)


@pytest.mark.usefixtures("fresh_logging")
@pytest.mark.parametrize("form", ["json", "console"])
def test_a_process_that_cannot_use_its_settings_says_so_in_one_line_and_ends_with_status_2(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], form: str
) -> None:
    monkeypatch.setenv("OKEY_ENVIRONMENT", "test")
    monkeypatch.setenv("OKEY_LOG_FORMAT", form)
    monkeypatch.setenv("OKEY_LISTEN_PORT", "harbour")
    with pytest.raises(SystemExit) as end:
        ServiceSettings.load()
    assert end.value.code == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("{") is (form == "json")
    assert "settings_refused" in line
    assert "OKEY_LISTEN_PORT is 'harbour': it should be a valid integer" in line
