"""Every block that a reader copies is run by a test, or is named with why it is not."""

import re

import pytest

from tests.docs.blocks import CODE, ROOT, Block, all_blocks, blocks_of
from tests.docs.elsewhere import ELSEWHERE, OKEYCTL


def unaccounted(blocks: list[Block], elsewhere: set[tuple[str, str]]) -> list[str]:
    """Blocks of code that no test runs and nobody has named, and names without such a block."""
    left = {
        (block.page, block.first_line)
        for block in blocks
        if block.language in CODE and not block.is_run and block.file is None
    }
    return sorted(f"{page}: {line}" for page, line in left ^ elsewhere)


def test_every_block_of_code_is_run_or_named() -> None:
    assert unaccounted(all_blocks(), set(ELSEWHERE)) == []


def test_a_block_that_nobody_runs_and_a_name_without_a_block_are_found() -> None:
    blocks = blocks_of("a.md", "```sh\nls\n```\n```sh run\ntrue\n```\n```text\nls\n```\n")
    assert unaccounted(blocks, set()) == ["a.md: ls"]
    assert unaccounted(blocks, {("a.md", "ls"), ("a.md", "gone")}) == ["a.md: gone"]


def test_blocks_are_read_with_line_words_and_file() -> None:
    text = "# A\n\n```python file=a.py\nprint()\n```\n\n```sh run\npython a.py\n```\n"
    program, command = blocks_of("a.md", text)
    assert (program.line, program.file, program.is_run) == (3, "a.py", False)
    assert (command.line, command.file, command.is_run) == (7, None, True)
    assert command.text == "python a.py\n"


@pytest.mark.parametrize("block", [each for each in all_blocks() if each.file], ids=str)
def test_a_written_file_is_used_by_a_command_below_it(block: Block) -> None:
    later = [each for each in all_blocks() if each.page == block.page and each.is_run]
    assert any(block.file in each.text for each in later if each.line > block.line and block.file)


def test_a_test_that_is_said_to_run_one_is_there() -> None:
    reasons = " ".join([*ELSEWHERE.values(), *OKEYCTL.values()])
    named = set(re.findall(r"tests/[a-z0-9_/]+(?:\.py)?", reasons))
    assert len(named) > 5
    assert sorted(each for each in named if not (ROOT / each).exists()) == []
