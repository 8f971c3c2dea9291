"""One platform for the commands of every page, with quick clocks and bots that do not ponder."""

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from pathlib import Path

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey_client import autoplay
from services.okeyctl.demo.platform import StartedPlatform

CLOCK_FACTOR = 10
BOT_PACE_MS = 5
Placeholders = Callable[[str], Awaitable[dict[str, str]]]
_OVER = (table_pb2.PHASE_NACHSPIEL, table_pb2.PHASE_CLOSED)


@pytest.fixture(scope="session")
async def platform(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StartedPlatform]:
    folder: Path = tmp_path_factory.mktemp("platform")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OKEY_BOT_PACE_MS", str(BOT_PACE_MS))
        async with StartedPlatform(folder, CLOCK_FACTOR) as platform:
            yield platform


@pytest.fixture(scope="session")
def placeholders(platform: StartedPlatform) -> Placeholders:
    """What a page leaves to its reader, by how it is written, for the texts that name it."""
    numbers = count(1)

    async def finished_table() -> str:
        async with platform.client(f"reader-{next(numbers)}") as client:
            terms = lobby_pb2.TableTerms(mode=common_pb2.MODE_SOLO, seat_count=2, stake=100)
            table = client.table(await client.lobby.create_table(terms))
            await autoplay(table, lambda view: view.phase in _OVER)
            return table.table_id

    async def waiting_table() -> str:
        async with platform.client(f"reader-{next(numbers)}") as client:
            return await client.lobby.create_table(lobby_pb2.TableTerms(seat_count=4, stake=100))

    async def player_with_chips() -> str:
        player = f"reader-{next(numbers)}"
        async with platform.client(player) as client:
            await client.wallet.balance_of(player)
        return player

    async def fill(text: str) -> dict[str, str]:
        found = {"<match>": "1", "<round>": "1"}
        if "<table>" in text or "<the table's id>" in text:
            found["<table>"] = found["<the table's id>"] = await finished_table()
        if "<running table>" in text:
            found["<running table>"] = await waiting_table()
        if "<player>" in text:
            found["<player>"] = await player_with_chips()
        return found

    return fill
