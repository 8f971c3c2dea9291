"""What ``--help`` shows."""

import pytest
from typer.testing import CliRunner

from services.okeyctl.main import app


@pytest.mark.parametrize("command", [[], ["simulate"], ["tables", "list"]], ids=" ".join)
def test_a_flag_is_not_shown_as_if_it_took_a_value(command: list[str]) -> None:
    shown = CliRunner().invoke(app, [*command, "--help"])
    assert shown.exit_code == 0
    assert "--help" in shown.output
    assert "bool" not in shown.output.lower()


def test_the_wallets_help_promises_no_list() -> None:
    assert "list" not in CliRunner().invoke(app, ["wallet", "--help"]).output
