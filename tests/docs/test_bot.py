"""The example bot, where its clock was faster than its process."""

import pytest

from examples.bot import play
from okey.api.engine.v1 import table_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey_client import TableClient
from services.okeyctl.demo.platform import StartedPlatform

pytestmark = [pytest.mark.system, pytest.mark.timeout(300)]

TERMS = lobby_pb2.TableTerms(seat_count=2, stake=100, turn_timeout_ms=15_000)


async def first_stand_in(table: TableClient) -> int:
    """The seat that a stand-in minds first, while nobody plays."""
    async for change in table.follow():
        for seat in change.view.seats:
            if seat.control == table_pb2.CONTROL_STAND_IN:
                return seat.seat
    raise AssertionError("the table closed before a stand-in came")


async def test_the_example_bot_takes_its_seat_back_from_a_stand_in(
    platform: StartedPlatform,
) -> None:
    """U8: the other seat's clock runs meanwhile, so that there is time for it."""
    async with platform.client("bot-late-0") as one, platform.client("bot-late-1") as other:
        table = one.table(await one.lobby.create_table(TERMS))
        await other.lobby.join_table(table.table_id)
        tables = (table, other.table(table.table_id))
        away = await first_stand_in(table)
        await play(tables[away])
        rows = (await table.finished_round(1, 1)).rows
        returned = [
            event.player_returned.seat
            for row in rows
            for event in row.events
            if event.WhichOneof("event") == "player_returned"
        ]
        assert returned[:1] == [away]
