"""Production refuses each unsafe setting with the message that docs/security.md gives for it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from okey_runtime.config import DEV_ISSUER, ServiceSettings
from okey_runtime.environment import SettingsRefused
from okey_runtime.keys import JwksFile, KeyFileBroken, create_signing_key, write_jwks
from okey_runtime.migration_job import MigrationSettings
from okey_runtime.production import guarded
from okey_runtime.sqlite import SqliteInUse
from services.engine.settings import EngineSettings
from services.gateway.settings import GatewaySettings
from services.lobby.settings import LobbySettings
from services.wallet.app import WalletSettings

SECURITY = Path(__file__).parents[3] / "docs" / "security.md"
SAFE = {
    "OKEY_JWKS_FILE": "/keys/jwks.json",
    "OKEY_TOKEN_ISSUER": "https://id.example",
    "OKEY_CHAIN_KEY_FILE": "/keys/chain.json",
    "OKEY_SEAL_KEYS_FILE": "/keys/seal-keys",
    **{
        f"OKEY_{name}_ADDRESS": "here:1" for name in ("LOBBY", "ENGINE", "WALLET", "RATING", "BOTS")
    },
}
REMOTE = "postgresql://okey:f3Zq@db.example/okey"
"""What an example in the documented table sets; None takes a variable away."""
EXAMPLES: Mapping[str, tuple[type[ServiceSettings], dict[str, str | None]]] = {
    "no key file": (ServiceSettings, {"OKEY_JWKS_FILE": None}),
    "development issuer": (ServiceSettings, {"OKEY_TOKEN_ISSUER": DEV_ISSUER}),
    "absurd skew": (ServiceSettings, {"OKEY_TOKEN_SKEW_MS": "3600000"}),
    "plaintext database": (ServiceSettings, {"OKEY_DATABASE_URL": REMOTE}),
    "plaintext Redis": (LobbySettings, {"OKEY_REDIS_URL": "redis://:f3Zq@redis.example:6379/0"}),
    "known password": (
        ServiceSettings,
        {"OKEY_DATABASE_URL": "postgresql://okey:postgres@127.0.0.1/okey"},
    ),
    "SQLite": (ServiceSettings, {"OKEY_DATABASE_URL": "sqlite:////data/okey.db"}),
    "unsealed ledger": (WalletSettings, {"OKEY_CHAIN_KEY_FILE": None}),
    "unsealed rounds": (EngineSettings, {"OKEY_SEAL_KEYS_FILE": None}),
    "unknown allowance": (ServiceSettings, {"OKEY_ALLOW_UNSAFE": "everything"}),
    "plaintext port": (ServiceSettings, {"OKEY_LISTEN_HOST": "0.0.0.0"}),
    "test settings": (EngineSettings, {"OKEY_CLOCK_FACTOR": "10"}),
    "guests' key": (GatewaySettings, {"OKEY_GATEWAY_GUEST_KEY_FILE": "/keys/dev.json"}),
    "failpoint": (ServiceSettings, {"OKEY_FAILPOINT": "engine.commit"}),
}
ROW = re.compile(r"^\| ([^|]+) \| `([^`]+)` \|([^|]*)\|$", re.MULTILINE)


def documented() -> dict[str, tuple[str, str]]:
    """The documented refusals: message and allowance by name."""
    text = SECURITY.read_text("utf-8").partition("## What production refuses")[2]
    return {
        name: (message, allowance.strip("` "))
        for name, message, allowance in ROW.findall(text.partition("\n## ")[0])
    }


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A production that starts."""
    for name, value in SAFE.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def change(environment: pytest.MonkeyPatch, changes: Mapping[str, str | None]) -> None:
    for name, value in changes.items():
        if value is None:
            environment.delenv(name)
        else:
            environment.setenv(name, value)


def test_every_documented_refusal_is_tried() -> None:
    assert set(documented()) == {*EXAMPLES, "development key", "two processes, one SQLite file"}


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("settings", [WalletSettings, EngineSettings, GatewaySettings])
def test_safe_settings_start(settings: type[ServiceSettings]) -> None:
    assert list(settings.read().unsafe()) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_refuses_with_the_documented_message(name: str, environment: pytest.MonkeyPatch) -> None:
    settings, changes = EXAMPLES[name]
    change(environment, changes)

    with pytest.raises(SettingsRefused) as refusal:
        settings.read()

    assert str(refusal.value) == documented()[name][0]
    assert "f3Zq" not in str(refusal.value)


@pytest.mark.parametrize("name", [name for name, (_, how) in documented().items() if how])
def test_starts_with_the_documented_allowance(name: str, environment: pytest.MonkeyPatch) -> None:
    settings, changes = EXAMPLES[name]
    change(environment, changes)
    allowance = documented()[name][1]
    variable, _, value = allowance.partition("=")
    environment.setenv(variable, value)

    allowed = settings.read()

    assert [each for each, _ in allowed.unsafe()] == [value] * (variable == "OKEY_ALLOW_UNSAFE")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://okey:f3Zq@db.example/okey?ssl=verify-full",
        "postgresql://okey:f3Zq@db.example/okey?ssl=require",
        "postgresql://okey:f3Zq@/okey?host=a.example:5432&host=b.example:5432&ssl=verify-ca",
        "postgresql://okey:f3Zq@127.0.0.1/okey",
        "postgresql://okey:f3Zq@[::1]:5432/okey",
        "postgresql://okey:f3Zq@/okey?host=/var/run/postgresql",
        "rediss://:f3Zq@redis.example:6379/0",
        "redis://:f3Zq@localhost:6379/0",
        "unix:///run/valkey.sock",
    ],
)
def test_encrypted_and_local_stores_are_safe(url: str, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OKEY_DATABASE_URL", url)
    assert list(ServiceSettings.read().unsafe()) == []


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://okey:f3Zq@db.example/okey?ssl=prefer",
        "postgresql://okey:f3Zq@db.example/okey?ssl=disable",
        "postgresql://okey:f3Zq@/okey?host=127.0.0.1:5432&host=b.example:5432",
        "postgresql+asyncpg://okey:f3Zq@10.0.0.7/okey",
        "redis://:f3Zq@redis.example:6379/0?ssl=require",
    ],
)
def test_a_store_that_may_speak_plaintext_beyond_loopback_is_unsafe(
    url: str, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("OKEY_DATABASE_URL", url)
    with pytest.raises(SettingsRefused, match="without TLS"):
        ServiceSettings.read()


def test_a_password_equal_to_the_users_name_is_known(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OKEY_DATABASE_URL", "postgresql://Ledger7:ledger7@127.0.0.1/okey")
    with pytest.raises(SettingsRefused, match="everybody knows"):
        ServiceSettings.read()


def test_a_job_that_migrates_refuses_the_same_stores(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OKEY_DATABASE_URL", "postgresql://okey:f3Zq@127.0.0.1/okey")
    environment.setenv("OKEY_OWNER_DATABASE_URL", REMOTE)
    with pytest.raises(SettingsRefused, match="OKEY_OWNER_DATABASE_URL leads to db"):
        MigrationSettings.read()


def test_a_development_key_is_refused_under_any_issuer(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    own = create_signing_key(tmp_path / "own", "2026-12")
    write_jwks(file, own, create_signing_key(tmp_path / "dev"))

    assert JwksFile(file).key_ids == ["2026-12", "dev"]
    with pytest.raises(KeyFileBroken) as refusal:
        JwksFile(file, allows_dev_key=False)

    assert str(refusal.value) == documented()["development key"][0].replace("JWKS", str(file))


def test_a_development_key_that_is_added_later_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    own = create_signing_key(tmp_path / "own", "2026-12")
    write_jwks(file, own)
    keys = JwksFile(file, allows_dev_key=False)

    dev = create_signing_key(tmp_path / "dev").as_dict(private=False)
    file.write_text(json.dumps({"keys": [own.as_dict(private=False), dev]}))
    keys.reload_if_changed()

    assert keys.key_ids == ["2026-12"]


def test_a_second_process_on_an_sqlite_file_is_refused(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("OKEY_DATABASE_URL", f"sqlite:///{tmp_path}/okey.db")
    environment.setenv("OKEY_ALLOW_UNSAFE", "sqlite")
    settings = ServiceSettings.read()

    with capture_logs() as lines, guarded(settings, settings.database_url):
        with (
            pytest.raises(SqliteInUse) as refusal,
            guarded(settings, settings.database_url),
        ):
            raise AssertionError("two processes hold one file")
        message = documented()["two processes, one SQLite file"][0]
        assert str(refusal.value) == message.replace("/data/okey.db", f"{tmp_path}/okey.db")
    with guarded(settings, settings.database_url):
        pass  # it is free again
    assert {line["event"] for line in lines} == {"unsafe_allowed"}
    assert {line["allowance"] for line in lines} == {"sqlite"}


def test_elsewhere_several_processes_may_share_a_file(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("OKEY_ENVIRONMENT", "test")
    environment.setenv("OKEY_DATABASE_URL", f"sqlite:///{tmp_path}/okey.db")
    settings = ServiceSettings.read()
    with (
        guarded(settings, settings.database_url),
        guarded(settings, settings.database_url),
    ):
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "query", ["ssl_cert_reqs=none", "ssl_cert_reqs=optional", "ssl_check_hostname=false"]
)
def test_redis_whose_certificate_nobody_checks_is_refused(
    query: str, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("OKEY_REDIS_URL", f"rediss://:f3Zq@redis.example:6379/0?{query}")
    with pytest.raises(SettingsRefused, match="does not check its certificate"):
        LobbySettings.read()
    environment.setenv("OKEY_ALLOW_UNSAFE", "plaintext-stores")
    assert [each for each, _ in LobbySettings.read().unsafe()] == ["plaintext-stores"]


def test_a_known_password_in_the_query_is_refused(environment: pytest.MonkeyPatch) -> None:
    url = "postgresql://okey@127.0.0.1/okey?password=postgres"
    environment.setenv("OKEY_DATABASE_URL", url)
    with pytest.raises(SettingsRefused, match="a password that everybody knows"):
        ServiceSettings.read()


def test_the_seal_key_of_development_clusters_is_refused(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    overlay = Path(__file__).parents[3] / "deploy" / "overlays" / "dev" / "kustomization.yaml"
    [line] = re.findall(r"seal-keys=(.+)", overlay.read_text("utf-8"))
    path = tmp_path / "seal-keys"
    path.write_text(f"{line}\n", "utf-8")
    path.chmod(0o600)
    environment.setenv("OKEY_SEAL_KEYS_FILE", str(path))
    with pytest.raises(SettingsRefused, match="a key that everybody knows"):
        EngineSettings.read()
    environment.setenv("OKEY_ALLOW_UNSAFE", "known-passwords")
    assert [each for each, _ in EngineSettings.read().unsafe()] == ["known-passwords"]
