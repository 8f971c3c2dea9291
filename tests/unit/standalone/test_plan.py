"""What runs: the environment of every child is one with which its service starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from okey_runtime.clock import VirtualClock
from okey_runtime.config import DEV_ISSUER, Environment, ServiceSettings
from okey_runtime.database import parse_url
from okey_runtime.dev_platform import dev_key_file
from okey_runtime.keys import create_signing_key
from services.engine.settings import EngineSettings
from services.gateway.settings import GatewaySettings
from services.lobby.settings import LobbySettings
from services.standalone.plan import NAMES, ChildPlan, plan_children
from services.standalone.ports import Ports
from services.standalone.shape import SINGLE
from services.standalone.tokens import ServiceTokens
from services.wallet.app import WalletSettings

PORTS = {name: Ports(7400 + index, 7420 + index, 7480) for index, name in enumerate(NAMES)}
SETTINGS: dict[str, type[ServiceSettings]] = {
    "gateway": GatewaySettings,
    "lobby": LobbySettings,
    "engine": EngineSettings,
    "wallet": WalletSettings,
    "rating": ServiceSettings,
    "bots": ServiceSettings,
}


def plans(folder: Path, **inherited: str) -> dict[str, ChildPlan]:
    tokens = ServiceTokens(create_signing_key(folder / "key"), folder / "tokens", VirtualClock())
    return {plan.name: plan for plan in plan_children(SINGLE, folder, PORTS, tokens, inherited)}


def settings_of(plan: ChildPlan, monkeypatch: pytest.MonkeyPatch) -> ServiceSettings:
    for key in list(os.environ):
        if key.startswith("OKEY_"):
            monkeypatch.delenv(key)
    for key, value in plan.environment.items():
        monkeypatch.setenv(key, value)
    return SETTINGS[plan.name].read()


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_every_service_reads_its_settings(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(plans(tmp_path)[name], monkeypatch)
    assert settings.environment is Environment.STANDALONE
    assert settings.listen_host == "127.0.0.1"
    assert settings.listen_port == PORTS[name].serving
    assert settings.metrics_port == PORTS[name].metrics
    assert settings.token_issuer == DEV_ISSUER
    calls_others = name != "bots"
    assert settings.service_token_dir == (tmp_path / "tokens" / name if calls_others else None)
    assert settings.service_token_file is None


def test_each_store_is_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    urls = set()
    for name in ("engine", "wallet", "rating"):
        url = settings_of(plans(tmp_path)[name], monkeypatch).database_url
        (tmp_path / "key").unlink()
        assert url is not None
        urls.add(url.get_secret_value())
    assert urls == {f"sqlite:///{tmp_path}/{name}.db" for name in ("engine", "wallet", "rating")}


def test_a_data_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "Masaüstü a#b?c%20d"
    folder.mkdir()
    url = plans(folder)["wallet"].environment["OKEY_DATABASE_URL"]
    assert parse_url(url).database == str(folder / "wallet.db")


def test_the_wallet_seals_and_compares_with_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wallet = settings_of(plans(tmp_path)["wallet"], monkeypatch)
    assert isinstance(wallet, WalletSettings)
    assert wallet.chain_key_file == tmp_path / "chain-signing-key.json"
    assert wallet.engine_address == PORTS["engine"].address


def test_callers_know_whom_they_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plans(tmp_path)
    engine = settings_of(planned["engine"], monkeypatch)
    assert isinstance(engine, EngineSettings)
    assert engine.wallet_address == PORTS["wallet"].address
    assert engine.rating_address == PORTS["rating"].address
    assert engine.bots_address == PORTS["bots"].address
    lobby = settings_of(planned["lobby"], monkeypatch)
    assert isinstance(lobby, LobbySettings)
    assert lobby.engine_address == PORTS["engine"].address
    gateway = settings_of(planned["gateway"], monkeypatch)
    assert isinstance(gateway, GatewaySettings)
    assert gateway.lobby_address == PORTS["lobby"].address
    assert gateway.gateway_port == PORTS["gateway"].page
    assert gateway.gateway_guest_key_file == dev_key_file().absolute()
    assert lobby.redis_url is not None
    assert lobby.redis_url.get_secret_value() == f"redis://{PORTS['valkey'].address}/0"


def test_only_named_variables_are_passed_on(tmp_path: Path) -> None:
    """A variable meant for another deployment must not reach the services."""
    planned = plans(
        tmp_path,
        PATH="/bin",
        OKEY_LOG_LEVEL="DEBUG",
        OKEY_DATABASE_URL="postgresql://production/wallet",
        OKEY_ENVIRONMENT="production",
        OKEY_SECRETS_DIR="/run/secrets",
    )
    for name, plan in planned.items():
        assert plan.environment["PATH"] == "/bin"
        assert plan.environment["OKEY_LOG_LEVEL"] == "DEBUG"
        assert "OKEY_SECRETS_DIR" not in plan.environment
        assert plan.environment.get("OKEY_ENVIRONMENT") in (None, "standalone")
        assert "production" not in plan.environment.get("OKEY_DATABASE_URL", ""), name


def test_valkey_is_the_wheels_own_server(tmp_path: Path) -> None:
    command = plans(tmp_path)["valkey"].command
    told = subprocess.run([command[0], "--version"], capture_output=True, text=True, check=True)
    assert "Valkey server" in told.stdout
    assert "127.0.0.1" in command


def test_services_run_with_this_python(tmp_path: Path) -> None:
    assert plans(tmp_path)["engine"].command == (sys.executable, "-m", "services.engine")


def test_who_takes_work_stops_first() -> None:
    assert (
        NAMES.index("gateway")
        < NAMES.index("lobby")
        < NAMES.index("engine")
        < NAMES.index("wallet")
    )
    assert NAMES[-1] == "valkey"


def test_the_limit_of_one_operator_reaches_the_wallet(tmp_path: Path) -> None:
    planned = plans(tmp_path, OKEY_APPROVAL_LIMIT_CHIPS="1000")
    assert planned["wallet"].environment["OKEY_APPROVAL_LIMIT_CHIPS"] == "1000"
