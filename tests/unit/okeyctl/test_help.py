"""What ``--help`` shows."""

from collections.abc import Iterator

import pytest
import typer.main
from typer.testing import CliRunner

from services.okeyctl.app import app
from services.okeyctl.sections import SECTIONS

TERMINAL = 80


def groups() -> Iterator[tuple[str, object]]:
    """Every group of commands, by how it is called."""
    left = [("okeyctl", typer.main.get_command(app))]
    while left:
        name, group = left.pop()
        yield name, group
        below = getattr(group, "commands", {})
        left += [(f"{name} {each}", one) for each, one in below.items() if hasattr(one, "commands")]


@pytest.mark.parametrize("command", [[], ["simulate"], ["tables", "list"]], ids=" ".join)
def test_a_flag_is_not_shown_as_if_it_took_a_value(command: list[str]) -> None:
    shown = CliRunner().invoke(app, [*command, "--help"])
    assert shown.exit_code == 0
    assert "--help" in shown.output
    assert "bool" not in shown.output.lower()


def test_every_command_stands_in_one_section() -> None:
    sorted_in = [name for names in SECTIONS.values() for name in names]
    assert sorted(sorted_in) == sorted(getattr(typer.main.get_command(app), "commands", {}))


@pytest.mark.parametrize(("name", "group"), list(groups()), ids=str)
def test_no_line_of_a_list_of_commands_is_cut(name: str, group: object) -> None:
    """What a command does is said in its first sentence, which fits a line of a terminal."""
    shown = CliRunner().invoke(
        app, [*name.split()[1:], "--help"], terminal_width=TERMINAL, env={"COLUMNS": str(TERMINAL)}
    )
    assert [line for line in shown.output.splitlines() if line.endswith("...")] == [
        line for line in shown.output.splitlines() if line.startswith("Usage")
    ]
    assert getattr(group, "commands", {}), name


def test_the_help_of_all_says_where_it_looks_and_how_it_ends() -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    assert "make run" in shown
    assert "Status 0" in shown
