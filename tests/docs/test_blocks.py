"""Every block that a reader copies is run by a test, or is named here with why it is not."""

import pytest

from tests.docs.blocks import CODE, Block, all_blocks, blocks_of

ELSEWHERE = {
    ("README.md", "make run"): "starts platforms and all tests: tests/e2e and .ci/run do",
    ("docs/quickstart.md", "make run"): "tests/e2e/test_standalone.py starts it",
    ("docs/cluster.md", "make cluster"): "tests/e2e/test_cluster.py starts it",
    ("docs/cluster.md", "export OKEY_DATA_DIR=$PWD/.okey/cluster"): "needs a cluster",
    ("docs/cluster.md", "apt-get install iproute2 nftables libfaketime"): "changes the machine",
    ("docs/cluster.md", ".venv/bin/okeyctl doctor"): "names hosts; docs/quickstart.md runs it",
    ("docs/deploy.md", "docker build -f deploy/Dockerfile -t okey-platform:0.1.0 ."): (
        "needs Docker and a cluster; tests/deploy builds and starts with what is here"
    ),
    (
        "docs/operations.md",
        "kubectl -n okey delete job -l okey/job=migration --ignore-not-found",
    ): "needs a cluster",
    ("docs/contributing.md", "make lint test"): ".ci/run is what runs the tests of the pages",
    ("docs/performance.md", "make bench"): "takes minutes",
    ("examples/README.md", ".venv/bin/python -m examples.web.edge --port 8080"): (
        "tests/docs/test_web.py starts the same Envoy on a free port"
    ),
    (
        "examples/README.md",
        "TOKEN=$(.venv/bin/okeyctl token --player web) node examples/web/first_table.js",
    ): "tests/docs/test_web.py runs it",
    ("docs/fairness.md", 'import { createHash, createHmac } from "node:crypto";'): (
        "tests/docs/test_fairness.py runs it"
    ),
}


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
