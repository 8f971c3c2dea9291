"""Nobody waits beside a fitting ticket, or a fitting table, longer than one matching pass.

After any course of events, with two replicas, while players come and go and tables are made,
joined, left and closed between any two steps of the pass.
"""

from collections.abc import AsyncIterator

import pytest

from services.lobby.ticket import Ticket, TicketState
from tests.fixtures.valkey import Valkey
from tests.integration.lobby.fitting import Unit, fits_table, fitting_sets, units
from tests.integration.lobby.quick_world import WINDOW, QuickWorld

QUICK_SEEDS = range(12)
LONG_SEEDS = range(2_000, 3_000)
LIFE = 0.25
"""How often something happens to a ticket or at a table instead of the pass's next step."""


async def check(valkey: Valkey, seed: int, events: int) -> None:
    """Let everything happen, then look at one pass; a replica may have died over the one before."""
    world = QuickWorld(valkey, seed)
    try:
        await world.live(events)
        healthy = await world.crowd()
        if world.chance.random() < 0.5:
            await world.crash_in_a_pass()
        before = await world.waiting()
        stood = {t for t, table in world.tables.tables.items() if not table.is_closed}
        world.claimed.clear()
        world.life.touched.clear()
        replicas = healthy if world.chance.random() < 0.5 else healthy[:1]
        await world.one_pass(*replicas, life=LIFE)
        left = {
            player: ticket
            for player, ticket in (await world.waiting()).items()
            if is_untouched(world, ticket, before.get(player))
        }
        assert not list(fitting_sets(left, WINDOW, world.clock.now_ms()))
        assert not [pair async for pair in fitting_tables(world, left, stood)]
    finally:
        await world.close()


def is_untouched(world: QuickWorld, now: Ticket, before: Ticket | None) -> bool:
    """Whether the ticket waited all the time: it was in no group, and its party is the same."""
    had = {member.ticket_id for group in world.claimed for member in group.members}
    return (
        before is not None
        and now.ticket_id not in had
        and (now.ticket_id, now.partner, now.since_ms)
        == (before.ticket_id, before.partner, before.since_ms)
    )


async def fitting_tables(
    world: QuickWorld, left: dict[str, Ticket], stood: set[str]
) -> AsyncIterator[tuple[Unit, str]]:
    """Units and tables that stood beside each other, with nothing happening there meanwhile: by
    players, by groups, nor to tickets of those who sit there.
    """
    tickets = await world.tickets()
    had = {member.player for group in world.claimed for member in group.members}
    busy = world.life.touched | {group.table_id for group in world.claimed}
    for table_id in stood - busy:
        table = world.tables.tables[table_id]
        sitting = set(table.players.values())
        seating = {p for p, ticket in tickets.items() if ticket.state is TicketState.SEATING}
        if table.is_closed or table.is_playing or sitting & (had | seating):
            continue
        for unit in units(left):
            fits = fits_table(unit, table, world.ratings.ratings, WINDOW, world.clock.now_ms())
            if fits and table_id not in [await world.avoided(t.player) for t in unit]:
                yield unit, table_id


@pytest.mark.parametrize("seed", QUICK_SEEDS)
async def test_nobody_waits_longer_than_one_pass(valkey: Valkey, seed: int) -> None:
    await check(valkey, seed, events=120)


@pytest.mark.long
@pytest.mark.parametrize("seed", LONG_SEEDS)
async def test_nobody_waits_longer_than_one_pass_in_a_long_course(
    valkey: Valkey, seed: int
) -> None:
    await check(valkey, seed, events=400)
