"""Quick match under random interleavings of two replicas that die anywhere: real scripts on a real
Valkey, tables and wallet in memory. Each seed is another course of events.
"""

from collections import Counter

import pytest

from services.lobby.seating import LEFT_TABLE
from services.lobby.ticket import TicketState
from tests.fixtures.match_tables import CHIPS
from tests.fixtures.valkey import Valkey
from tests.integration.lobby.quick_world import QuickWorld

QUICK_SEEDS = range(12)
LONG_SEEDS = range(100, 1_100)


async def check(valkey: Valkey, seed: int, events: int) -> None:
    """Let everything happen, then calm down, and look whether all is right."""
    world = QuickWorld(valkey, seed)
    try:
        await world.live(events)
        await world.calm_down()
        await nobody_is_seated_or_charged_twice(world)
        await there_are_no_zombie_seats(world)
        await there_are_no_ghost_tables(world)
        assert not await world.fitting()
    finally:
        await world.close()


async def nobody_is_seated_or_charged_twice(world: QuickWorld) -> None:
    tables = world.tables
    sitting = Counter(
        player
        for table in tables.tables.values()
        if not table.is_closed
        for player in table.players.values()
    )
    assert all(seats == 1 for seats in sitting.values()), sitting
    for player in world.players:
        table_id = tables.where(player)
        stake = tables.tables[table_id].terms.stake if table_id else 0
        assert tables.chips.get(player, CHIPS) == world.base[player] - stake, player


async def there_are_no_zombie_seats(world: QuickWorld) -> None:
    """Whoever sits knows it; whoever was told of a seat has it, or has left it or played there."""
    tickets, life = await world.tickets(), world.life
    for player in world.players:
        table_id, ticket = world.tables.where(player), tickets.get(player)
        if ticket is not None:
            assert ticket.state is not TicketState.SEATING, player
            assert ticket.reason != LEFT_TABLE or player in life.walked, player
        is_told = ticket is not None and ticket.state is TicketState.SEATED
        has_come_alone = (player, table_id) in life.sat_down
        if table_id is not None and not has_come_alone:
            assert is_told, player
        if ticket is None or not is_told or has_come_alone:
            continue
        if table_id == ticket.table_id:
            assert world.tables.tables[table_id].seat_of(player) == ticket.seat, player
        else:
            assert ticket.table_id in life.walked_out_of | life.finished, player


async def there_are_no_ghost_tables(world: QuickWorld) -> None:
    """A table that stands is full, waits for bots, or a player has made it, left it, or sat down
    there without quick match.
    """
    life = world.life
    for table_id, table in world.tables.tables.items():
        if not table.is_closed:
            assert table.players, table_id
            has_guests = any((p, table_id) in life.sat_down for p in table.players.values())
            is_explained = has_guests or table_id in life.walked_out_of | life.made
            is_explained |= bool(table.house_fill_after_ms)
            assert table.is_full or is_explained, table_id


@pytest.mark.parametrize("seed", QUICK_SEEDS)
async def test_any_course_of_events_has_one_outcome(valkey: Valkey, seed: int) -> None:
    await check(valkey, seed, events=250)


@pytest.mark.long
@pytest.mark.parametrize("seed", LONG_SEEDS)
async def test_any_long_course_of_events_has_one_outcome(valkey: Valkey, seed: int) -> None:
    await check(valkey, seed, events=600)
