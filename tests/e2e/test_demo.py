"""The demo: everything is shown, and what does not happen is told."""

import asyncio
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from services.okeyctl.demo.run import DidNotHappen, run_demo
from services.okeyctl.demo.scenarios import SCENARIOS

pytestmark = pytest.mark.system


async def test_it_shows_every_kind_of_match_and_ends_with_the_audit() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.okeyctl.main", "demo"),
        stdout=asyncio.subprocess.PIPE,
    )
    raw, _ = await process.communicate()
    output = raw.decode()
    assert process.returncode == 0, output
    kinds = "Çanak 2,Çanak 4,Nachspiel,solo,Eşli,Klasik 2,Klasik 4,forfeit,timeout"
    for kind in kinds.split(","):
        assert f"[{kind}] done" in output
    for text in ("gave up", "ran out of time (2)", "an AI minds the seat", "is back", "audit: "):
        assert text in output


async def test_what_does_not_happen_is_named_and_the_logs_are_kept() -> None:
    impossible = replace(SCENARIOS[0], expected={"match_voided": 1})
    with pytest.raises(DidNotHappen, match=r"Çanak 2: no match_voided.*logs are in /") as told:
        await run_demo(lambda text: None, [impossible])
    folder = Path(str(told.value).rpartition(" ")[2])
    assert (folder / "data" / "log" / "engine.log").exists()
    shutil.rmtree(folder)
