"""``okeyctl config check``: whether a service would start with the environment that is here."""

import json

import pytest
from typer.testing import CliRunner

from services.okeyctl.app import app


def check(service: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["config", "check", service])
    return done.exit_code, done.stdout, done.stderr


def test_every_setting_is_shown_by_its_variable_but_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OKEY_ENVIRONMENT", "test")
    monkeypatch.setenv("OKEY_LISTEN_PORT", "7405")
    monkeypatch.setenv("OKEY_DATABASE_URL", "postgresql://okey:the-password@127.0.0.1/okey")
    status, out, _ = check("bots")
    assert status == 0
    shown = json.loads(out)
    assert (shown["OKEY_ENVIRONMENT"], shown["OKEY_LISTEN_PORT"]) == ("test", 7405)
    assert "the-password" not in out
    assert shown["OKEY_DATABASE_URL"].strip("*") == ""


def test_an_environment_that_the_service_refuses_is_told_by_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OKEY_LISTEN_PORT", "99999")
    status, out, err = check("bots")
    assert (status, out) == (2, "")
    assert "bots would not start" in err
    assert "OKEY_LISTEN_PORT is '99999'" in err
