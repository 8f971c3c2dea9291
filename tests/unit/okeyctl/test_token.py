"""``okeyctl token``: development tokens, signed by this user's key."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from okey_runtime.auth import JwksFile, Role, TokenExpired, TokenVerifier, write_jwks
from okey_runtime.clock import SystemClock, VirtualClock
from okey_runtime.config import DEV_ISSUER
from okey_runtime.dev_platform import make_dev_key
from okey_runtime.identity import Identity
from services.okeyctl.app import app


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def make(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["token", *arguments])
    assert result.exit_code == 0
    (line,) = result.stdout.splitlines()
    return line


def verify(token: str, folder: Path, later_ms: int = 0) -> Identity:
    """As a service of a platform of this user does."""
    write_jwks(folder / "jwks.json", make_dev_key())
    clock = VirtualClock(SystemClock().now_ms() + later_ms)
    keys = JwksFile(folder / "jwks.json")
    return TokenVerifier(keys, issuer=DEV_ISSUER, clock=clock).verify(token)


def test_a_token_speaks_for_a_player(state_home: Path) -> None:
    identity = verify(make("--player", "ayse", "--name", "Ayşe"), state_home)
    assert (identity.subject, identity.name) == ("ayse", "Ayşe")
    assert identity.roles == {Role.PLAYER}


def test_roles_may_be_named(state_home: Path) -> None:
    token = make("--player", "ops", "--role", "operator", "--role", "integrator")
    assert verify(token, state_home).roles == {Role.OPERATOR, Role.INTEGRATOR}


def test_a_token_ends_when_asked(state_home: Path) -> None:
    token = make("--player", "ayse", "--ttl", "60")
    assert verify(token, state_home, later_ms=50_000).subject == "ayse"
    with pytest.raises(TokenExpired):
        verify(token, state_home, later_ms=120_000)


@pytest.mark.parametrize(
    "arguments",
    [("--player", "two words"), ("--player", ""), ("--player", "a", "--name", "x" * 65)],
)
def test_what_no_service_would_take_is_refused(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, ["token", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("okeyctl: ")


@pytest.mark.parametrize(
    "arguments", [(), ("--player", "a", "--role", "king"), ("--player", "a", "--ttl", "0")]
)
def test_what_cannot_be_read_is_refused(arguments: tuple[str, ...]) -> None:
    assert CliRunner().invoke(app, ["token", *arguments]).exit_code == 2


def test_a_key_that_others_can_read_is_not_used(state_home: Path) -> None:
    make("--player", "ayse")
    (state_home / "okey" / "dev-signing-key.json").chmod(0o644)
    result = CliRunner().invoke(app, ["token", "--player", "ayse"])
    assert result.exit_code == 2
    assert "chmod 600" in result.stderr
