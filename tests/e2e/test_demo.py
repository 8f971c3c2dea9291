"""The demo: everything is shown, and what does not happen is told."""

import asyncio
import json
import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from services.okeyctl.demo.platform import PlatformDidNotStart
from services.okeyctl.demo.run import DidNotHappen, run_demo
from services.okeyctl.demo.scenarios import SCENARIOS

pytestmark = pytest.mark.long


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


@pytest.mark.parametrize("begun", ["starting a platform", "ready: "])
async def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path, begun: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.okeyctl.main", "demo"),
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    while not (line := await process.stdout.readline()).startswith(begun.encode()):
        assert line, await process.stderr.read()
    # As a terminal's Ctrl-C does: the platform of the demo gets it as well.
    os.killpg(process.pid, signal.SIGINT)
    _, errors = await process.communicate()
    assert process.returncode != 0
    assert b"Traceback" not in errors
    assert os.listdir(tmp_path) == []


async def test_a_platform_that_does_not_start_leaves_its_logs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OKEY_WELCOME_CHIPS", "-5")
    with pytest.raises(PlatformDidNotStart, match="OKEY_WELCOME_CHIPS is '-5'") as told:
        await run_demo(lambda text: None)
    folder = Path(str(told.value).rpartition(" ")[2])
    (line,) = (folder / "data" / "log" / "wallet.log").read_text().splitlines()
    assert json.loads(line)["event"] == "settings_refused"
    shutil.rmtree(folder)


async def test_what_does_not_happen_is_named_and_the_logs_are_kept() -> None:
    impossible = replace(SCENARIOS[0], expected={"match_voided": 1})
    with pytest.raises(DidNotHappen, match=r"Çanak 2: no match_voided.*logs are in /") as told:
        await run_demo(lambda text: None, [impossible])
    folder = Path(str(told.value).rpartition(" ")[2])
    assert (folder / "data" / "log" / "engine.log").exists()
    shutil.rmtree(folder)
