"""``okeyctl token``: development tokens, signed by this user's key."""

import os
from pathlib import Path

import pytest
from joserfc.jwk import OKPKey
from typer.testing import CliRunner

from okey_runtime.audiences import Audiences, WrongAudience
from okey_runtime.auth import JwksFile, Role, TokenExpired, TokenVerifier, write_jwks
from okey_runtime.clock import SystemClock, VirtualClock
from okey_runtime.config import DEV_ISSUER
from okey_runtime.dev_platform import (
    DATA_DIR_VARIABLE,
    DevPlatform,
    dev_key_file,
    make_dev_key,
)
from okey_runtime.identity import Identity
from okey_runtime.keys import create_signing_key
from services.okeyctl.app import app


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with a key, and no platform running."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path / "data"))
    make_dev_key()
    return tmp_path


def make(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["token", *arguments])
    assert result.exit_code == 0
    (line,) = result.stdout.splitlines()
    return line


def verify(
    token: str, folder: Path, later_ms: int = 0, key: OKPKey | None = None, service: str = "lobby"
) -> Identity:
    """As a service of a platform with that key does, or of one of this user."""
    write_jwks(folder / "jwks.json", key or make_dev_key())
    clock = VirtualClock(SystemClock().now_ms() + later_ms)
    keys = JwksFile(folder / "jwks.json")
    audiences = Audiences([service])
    return TokenVerifier(keys, issuer=DEV_ISSUER, clock=clock, audiences=audiences).verify(token)


def test_a_token_speaks_for_a_player(state_home: Path) -> None:
    identity = verify(make("--player", "ayse", "--name", "Ayşe"), state_home)
    assert (identity.subject, identity.name) == ("ayse", "Ayşe")
    assert identity.roles == {Role.PLAYER}


@pytest.mark.parametrize("named", ["--data-dir", DATA_DIR_VARIABLE])
def test_the_key_of_the_platform_that_runs_signs(
    state_home: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """Started by another user, or with another XDG_STATE_HOME."""
    data_dir, key_file = state_home / "theirs", state_home / "their-key.json"
    data_dir.mkdir()
    theirs = create_signing_key(key_file)
    DevPlatform(pid=os.getpid(), key_file=key_file, processes={}).save(data_dir)
    option = ("--data-dir", str(data_dir)) if named == "--data-dir" else ()
    if not option:
        monkeypatch.setenv(named, str(data_dir))
    result = CliRunner().invoke(app, ["token", "--player", "ayse", *option])
    assert verify(result.stdout.strip(), state_home, key=theirs).subject == "ayse"
    assert f"signed with {key_file}, the key of the platform" in result.stderr


def test_without_a_platform_the_key_of_this_user_signs_and_is_named() -> None:
    result = CliRunner().invoke(app, ["token", "--player", "ayse"])
    assert f"signed with {dev_key_file()}; no platform runs with" in result.stderr


def test_without_a_platform_and_a_key_there_is_no_token() -> None:
    """One that is made now would be taken by no platform that runs."""
    dev_key_file().unlink()
    result = CliRunner().invoke(app, ["token", "--player", "ayse"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "make run" in result.stderr
    assert f"no development key {dev_key_file()}" in result.stderr
    assert not dev_key_file().exists()


def test_roles_may_be_named(state_home: Path) -> None:
    token = make("--player", "ops", "--role", "player", "--role", "integrator")
    assert verify(token, state_home).roles == {Role.PLAYER, Role.INTEGRATOR}


def test_an_operators_token_is_for_the_service_that_is_named(state_home: Path) -> None:
    token = make("--player", "ops", "--role", "operator", "--for", "wallet")
    assert verify(token, state_home, service="wallet").roles == {Role.OPERATOR}
    with pytest.raises(WrongAudience):
        verify(token, state_home, service="engine")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--role", "operator"), "operator is good on one service, and --for was not given"),
        (("--role", "operator", "--for", "bank"), "--for names 'bank', which is none: name one of"),
        (("--for", "wallet"), "player is good on every service: leave --for out"),
        (
            ("--role", "operator", "--role", "player", "--for", "wallet"),
            "operator and player need two tokens",
        ),
    ],
)
def test_a_token_that_would_grant_nothing_is_refused(arguments: tuple[str, ...], told: str) -> None:
    result = CliRunner().invoke(app, ["token", "--player", "ops", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


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
