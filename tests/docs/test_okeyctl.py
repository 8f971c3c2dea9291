"""Each command of okeyctl stands in a block that is run; what the pages say of commands, options
and targets of make is so, wherever they say it.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from services.okeyctl.app import app
from tests.docs.blocks import ROOT, all_blocks, pages
from tests.docs.elsewhere import OKEYCTL
from tests.unit.okeyctl.test_every_command import commands

CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
MENTION = re.compile(r"\bokeyctl((?: [a-z][a-z-]*\b)*)([^\n`#|]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
MADE = re.compile(r"(?<![\w-])make ([a-z]+(?:-[a-z]+)*)")
TARGET = re.compile(r"^([a-z]+(?:-[a-z]+)*):", re.MULTILINE)


def is_run(name: str, text: str) -> bool:
    return re.search(rf"okeyctl {name}(?![\w-])", text) is not None


def find(words: list[str]) -> tuple[object, list[str]]:
    """The group or command that the first words name, and the words behind that."""
    command: object = typer.main.get_command(app)
    for number, word in enumerate(words):
        below = getattr(command, "commands", {})
        if word not in below:
            return command, words[number:]
        command = below[word]
    return command, []


def wrong(text: str) -> Iterator[str]:
    """Commands that do not exist, and options that theirs does not have."""
    for code in CODE.findall(text):
        for words, behind in MENTION.findall(code.replace("\\\n", " ")):
            command, rest = find(words.split())
            if rest and hasattr(command, "commands"):
                yield f"okeyctl{words}: there is no such command"
                continue
            options = {
                name
                for each in getattr(command, "params", [])
                for name in (*each.opts, *each.secondary_opts)
            }
            for option in OPTION.findall(behind):
                if option not in options | {"--help"}:
                    yield f"okeyctl{words}: there is no {option}"


def test_each_command_is_run_as_a_page_says_or_is_named() -> None:
    text = "\n".join(block.text for block in all_blocks() if block.is_run)
    assert {name for name, _ in commands() if not is_run(name, text)} == OKEYCTL.keys()


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_options_that_a_page_names_exist(path: Path) -> None:
    assert list(wrong(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_targets_of_make_that_a_page_names_exist(path: Path) -> None:
    targets = set(TARGET.findall((ROOT / "Makefile").read_text("utf-8")))
    code = " ".join(CODE.findall(path.read_text("utf-8")))
    assert sorted(set(MADE.findall(code)) - targets) == []


def test_what_does_not_exist_is_found() -> None:
    text = "`okeyctl tables lst` `okeyctl tables list --jsn`\n```sh\nokeyctl audit \\\n --no\n```\n"
    assert list(wrong(text)) == [
        "okeyctl tables lst: there is no such command",
        "okeyctl tables list: there is no --jsn",
        "okeyctl audit: there is no --no",
    ]
    assert list(wrong("`okeyctl tables show <table> --json`, okeyctl prose, `okeyctl`")) == []


def test_a_command_is_not_another_one_that_begins_alike() -> None:
    assert not is_run("tables", "okeyctl tables-x list")
    assert is_run("tables list", ".venv/bin/okeyctl tables list\n")
