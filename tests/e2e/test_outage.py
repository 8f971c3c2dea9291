"""What goes on while one part is away, and what is made up for when it is back."""

import asyncio

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey.api.rating.v1 import rating_pb2
from okey_client import OkeyClient, autoplay
from services.okeyctl.demo.platform import StartedPlatform
from services.standalone.plan import NAMES
from tests.e2e.match import (
    STAKE,
    Tables,
    house_bonus,
    is_over,
    kill,
    play_to_the_end,
    require_no_chip_lost,
)
from tests.e2e.test_kill import looks, standing

pytestmark = pytest.mark.long

QUICK_MATCH = lobby_pb2.TableTerms(seat_count=2, stake=STAKE)


async def test_every_service_killed_at_once(platform: StartedPlatform, tables: Tables) -> None:
    """M5: nothing that was acknowledged lives in memory alone."""
    bonus = await house_bonus(platform)
    seated = await tables.seat_mid_round()
    before = await looks(seated)
    await kill(platform, *NAMES)
    after = await looks(seated)
    assert [standing(view) for view in after] == [standing(view) for view in before]
    await require_no_chip_lost(platform, seated, await play_to_the_end(seated), bonus)


@pytest.mark.parametrize("victim", ["nobody", "lobby", "valkey"])
async def test_quick_match_seats_two_players(
    platform: StartedPlatform, tables: Tables, victim: str
) -> None:
    """M2: both are seated at one table, also after the lobby or its Valkey has died."""
    if victim != "nobody":
        await kill(platform, victim)
    clients = [await tables.client(f"quick-{victim}-{number}") for number in range(2)]
    async with asyncio.timeout(60):
        tickets = await asyncio.gather(*(c.lobby.quick_match(QUICK_MATCH) for c in clients))
    assert [ticket.state for ticket in tickets] == [lobby_pb2.TICKET_STATE_SEATED] * 2
    assert tickets[0].table_id == tickets[1].table_id
    assert {ticket.seat for ticket in tickets} == {0, 1}
    table_id = tickets[0].table_id
    await asyncio.gather(*(autoplay(c.table(table_id), is_over) for c in clients))


async def rated_matches(client: OkeyClient, player_id: str) -> int:
    ratings = await client.rating.of(player_id)
    return sum(r.rated_matches for r in ratings if r.ladder == rating_pb2.LADDER_CANAK)


async def test_ratings_arrive_after_the_rating_service_was_killed(
    platform: StartedPlatform, tables: Tables
) -> None:
    """R1, R2: the match counts once for each of the two, however late."""
    seated = await tables.seat_mid_round()
    await asyncio.gather(kill(platform, "rating"), play_to_the_end(seated))
    expected = [1, 1]
    async with asyncio.timeout(30):
        while expected != [await rated_matches(own.client, own.player_id) for own in seated]:
            continue


async def test_a_solo_match_goes_on_while_the_bots_are_killed(
    platform: StartedPlatform, tables: Tables
) -> None:
    """U10: a table never waits for a bot."""
    client = await tables.client("alone")
    terms = lobby_pb2.TableTerms(mode=common_pb2.MODE_SOLO, seat_count=2, stake=STAKE)
    table_id = await client.lobby.create_table(terms)
    _, mirror = await asyncio.gather(
        kill(platform, "bots"), autoplay(client.table(table_id), is_over)
    )
    assert is_over(mirror.view)
