"""Text that is shown again: in place on a terminal, one below the other in a file."""

import io

import pytest
from rich.console import Console

from services.okeyctl.live import in_place


def test_a_terminal_shows_the_newest_lines_only() -> None:
    out = io.StringIO()
    with in_place(Console(file=out, force_terminal=True, width=80)) as tell:
        tell(["one", "two"])
        tell(["three", "four"])
    moved_up = "\x1b[1A"
    assert moved_up in out.getvalue().partition("three")[0]
    assert out.getvalue().rstrip("\x1b[?25h\n").endswith("four")


def test_a_file_gets_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    with in_place(Console(file=io.StringIO())) as tell:
        tell(["one"])
        tell(["two"])
    assert capsys.readouterr().out == "one\ntwo\n"
