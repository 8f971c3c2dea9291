"""A whole match over gRPC, every service a process of its own."""

import asyncio
import json
import sys

from okey.api.engine.v1 import table_pb2
from okey_client import autoplay
from services.okeyctl.demo.platform import StartedPlatform
from tests.e2e.match import (
    STAKE,
    WELCOME_CHIPS,
    Tables,
    house_bonus,
    is_over,
    play_to_the_end,
    require_no_chip_lost,
)


async def test_a_match_is_played_and_paid(platform: StartedPlatform, tables: Tables) -> None:
    """Ç1, Ç2, Ç3: stakes become pot and kasa, the winner has the pot."""
    bonus = await house_bonus(platform)
    seated = await tables.seat()
    view = await play_to_the_end(seated)
    await require_no_chip_lost(platform, seated, view, bonus)
    if view.phase == table_pb2.PHASE_NACHSPIEL and view.kasa == STAKE * 2 // 10:
        pot = 2 * STAKE - view.kasa
        chips = sorted([await own.chips() for own in seated])
        won_or_drawn = ([WELCOME_CHIPS - STAKE, WELCOME_CHIPS - STAKE + pot],)
        assert chips in (*won_or_drawn, [WELCOME_CHIPS - STAKE + pot // 2] * 2)


async def test_who_plays_on_finds_the_kasa_grown(tables: Tables) -> None:
    """Ç8: the stake is paid again, and the kasa of the match before counts."""
    for _ in range(8):
        seated = await tables.seat()
        first = await play_to_the_end(seated)
        if first.phase == table_pb2.PHASE_NACHSPIEL:
            break
    kasa = first.kasa
    for own in seated:
        await own.table.play_on()

    def has_next_match(view: table_pb2.TableView) -> bool:
        return view.match_no == 2 and view.phase == table_pb2.PHASE_PLAYING

    mirrors = await asyncio.gather(*(autoplay(own.table, has_next_match) for own in seated))
    assert mirrors[0].view.kasa == kasa + 2 * STAKE // 10
    assert is_over(await play_to_the_end(seated))


async def okeyctl(platform: StartedPlatform, *arguments: str) -> tuple[int, str]:
    """Exit status and output of the command, pointed at the platform's data folder."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.okeyctl.main", *arguments),
        *("--data-dir", str(platform.data_dir)),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def test_okeyctl_finds_the_platform_by_its_data_folder(
    platform: StartedPlatform, tables: Tables
) -> None:
    seated = await tables.seat_mid_round()
    table_id = seated[0].table.table_id
    status, output = await okeyctl(platform, "audit", "--json")
    assert (status, json.loads(output)["findings"]) == (0, [])
    status, output = await okeyctl(platform, "tables", "list")
    assert status == 0
    (line,) = [line for line in output.splitlines() if line.startswith(table_id)]
    assert f"{STAKE} chips  playing" in line
    status, output = await okeyctl(platform, "tables", "show", table_id)
    assert status == 0
    assert f"pot {2 * STAKE * 9 // 10}" in output
    await play_to_the_end(seated)
    status, output = await okeyctl(platform, "tables", "verify", table_id, "1", "1")
    assert status == 0
    assert "is the SHA-256 of the published seed" in output
    assert "it is the table's first deal" in output
