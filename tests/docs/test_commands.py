"""The commands of each page, run as they stand there against a platform on other ports."""

import re
from pathlib import Path

import pytest

from services.okeyctl.demo.platform import StartedPlatform
from tests.docs.blocks import all_blocks
from tests.docs.conftest import Placeholders
from tests.docs.sandbox import Sandbox

RUN = [block for block in all_blocks() if block.is_run]


@pytest.mark.system
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", sorted({block.page for block in RUN}))
async def test_the_commands_of_a_page_run_as_written(
    page: str, platform: StartedPlatform, placeholders: Placeholders, tmp_path: Path
) -> None:
    blocks = [block for block in all_blocks() if block.page == page]
    found = await placeholders("".join(block.text for block in blocks if block.is_run))
    # Each page's reader is another one: who sits at a table on one page sits there on the next.
    found["ayse"] = "ayse-" + re.sub(r"\W", "-", page)
    ran = await Sandbox(tmp_path, platform, found).run(blocks)
    assert ran.failed_at is None, f"{page}:{ran.failed_at}\n{ran.output}"
