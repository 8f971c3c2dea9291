"""The commands of each page, run as they stand there against a platform on other ports."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from services.okeyctl.demo.platform import StartedPlatform
from services.standalone.shape import CLUSTER, SINGLE, Shape
from tests.docs.blocks import Block, all_blocks
from tests.docs.readers import Readers
from tests.docs.sandbox import Sandbox

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

BLOCKS = all_blocks()
ON_ONE = sorted({each.page for each in BLOCKS if each.is_run and not each.is_for_a_cluster})
ON_A_CLUSTER = sorted({each.page for each in BLOCKS if each.is_for_a_cluster})


async def run_all(
    blocks: Iterable[Block], platform: StartedPlatform, folder: Path, shape: Shape
) -> None:
    """Run them in order, as one reader; the first that fails is told with all output."""
    blocks = list(blocks)
    page = blocks[0].page
    found = await Readers(platform, page).placeholders(
        "".join(block.text for block in blocks if block.is_run)
    )
    # Each page's reader is another one: who sits at a table on one page sits there on the next.
    found["ayse"] = "ayse-" + re.sub(r"\W", "-", page)
    ran = await Sandbox(folder, platform, found, shape).run(blocks)
    assert ran.failed_at is None, f"{page}:{ran.failed_at}\n{ran.output}"


@pytest.mark.parametrize("page", ON_ONE)
async def test_the_commands_of_a_page_run_as_written(
    page: str, platform: StartedPlatform, tmp_path: Path
) -> None:
    blocks = [each for each in BLOCKS if each.page == page and not each.is_for_a_cluster]
    await run_all(blocks, platform, tmp_path, SINGLE)


@pytest.mark.parametrize("page", ON_A_CLUSTER)
async def test_the_commands_for_a_cluster_run_as_written(
    page: str, cluster: StartedPlatform, tmp_path: Path
) -> None:
    blocks = [each for each in BLOCKS if each.page == page and each.is_for_a_cluster]
    await run_all(blocks, cluster, tmp_path, CLUSTER)
