"""docs/quickstart.md: its program runs as printed, its ports are the real ones."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from services.okeyctl.demo.platform import StartedPlatform
from services.standalone.plan import NAMES, PASSED_ON
from services.standalone.ports import planned_ports
from services.standalone.shape import SINGLE

QUICKSTART = (Path(__file__).parents[2] / "docs" / "quickstart.md").read_text("utf-8")


@pytest.mark.long
async def test_the_program_of_the_quickstart_plays_a_match(
    platform: StartedPlatform, tmp_path: Path
) -> None:
    """O1: one person against a bot, with the program exactly as it is printed."""
    (program,) = re.findall(
        r"^```python file=first_match.py\n(.*?)^```$", QUICKSTART, re.DOTALL | re.MULTILINE
    )
    file = tmp_path / "first_match.py"
    file.write_text(program)
    state = platform.state
    addresses = {name.upper(): state.address(name) for name in ("lobby", "engine", "wallet")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(file)),
        env={**os.environ, **addresses, "TOKEN": platform.token("ayse", name="Ayşe")},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    assert re.fullmatch(r"table [a-z0-9]{26}\nchips \d+\n", output.decode())


def test_the_table_of_addresses_is_the_real_one() -> None:
    for name, ports in planned_ports(NAMES, SINGLE.first_port).items():
        assert f"{name:<8} {ports.address}" in QUICKSTART
        assert ports.page_url in QUICKSTART


def test_every_variable_that_is_handed_on_is_explained() -> None:
    for name in PASSED_ON:
        assert f"`{name}`" in QUICKSTART
