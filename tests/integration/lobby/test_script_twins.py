"""What scripts in Redis and Python both decide about tickets, they decide alike."""

import random
from collections.abc import AsyncIterator, Sequence

import pytest
from redis.asyncio import Redis

from okey.rules.variant import Mode
from okey_runtime.clock import VirtualClock
from okey_runtime.redis import open_redis
from services.lobby.group import Group, group_of
from services.lobby.group_store import GroupStore
from services.lobby.planning import plan
from services.lobby.terms import Terms
from services.lobby.ticket import PartyNotFound, TicketExists, TicketNotFound, TicketState, Wish
from services.lobby.ticket_scripts import FRESH_MS, ticket_key
from services.lobby.ticket_store import TicketStore
from services.lobby.waiting import Waiting, units_of
from services.lobby.windows import RatingWindow
from tests.fixtures.valkey import Valkey

TWO = Terms.of(seat_count=2)
ESLI = Terms.of(mode=Mode.ESLI)
SEEDS = range(10)


@pytest.fixture
async def redis(valkey: Valkey) -> AsyncIterator[Redis]:
    opened = open_redis(valkey.url)
    yield opened
    await opened.aclose()


@pytest.mark.parametrize("state", TicketState)
async def test_a_state_is_live_for_both_or_for_neither(redis: Redis, state: TicketState) -> None:
    tickets = TicketStore(redis, VirtualClock())
    await tickets.enqueue(Wish("ada", "", "first", ESLI))
    await redis.hset(ticket_key("ada"), "state", state.value)
    try:
        await tickets.enqueue(Wish("ada", "", "second", TWO))
    except TicketExists:
        is_live = True
    else:
        is_live = False
    assert is_live == state.is_live


class Crowd:
    """Players of Eşli as a seed has them: alone, in parties, gone silent, held back."""

    def __init__(self, redis: Redis, seed: int) -> None:
        self.chance = random.Random(seed)
        self.clock = VirtualClock()
        self.tickets = TicketStore(redis, self.clock)
        self.groups = GroupStore(redis, self.clock, "here")
        self._players = [f"player{number}" for number in range(24)]
        self._codes = [""]

    async def come(self) -> list[Waiting]:
        """Who can be matched after all that."""
        for number in range(80):
            await self._something(f"ticket{number}")
        # Whatever the seed has brought: one alone and one party there are.
        await self.tickets.enqueue(Wish("alone", "", "alone", ESLI))
        opening = Wish("opener", "", "opener", ESLI, party_code="c0de", opens_party=True)
        await self.tickets.enqueue(opening)
        await self.tickets.enqueue(Wish("partner", "", "partner", ESLI, party_code="c0de"))
        rows = await self.groups.begin_pass(ESLI)
        assert rows is not None
        return rows

    async def had(self, number: int, members: Sequence[Waiting]) -> bool:
        """Whether those tickets can be claimed together; they are put back."""
        claims = await self.groups.claim([as_group(f"group{number}", members)])
        for claim in claims:
            await self.groups.put_back(claim)
        return bool(claims)

    async def _something(self, ticket_id: str) -> None:
        player = self.chance.choice(self._players)
        match self.chance.randrange(20):
            case 0:
                self.clock.advance_ms(FRESH_MS // 4)
            case 1:
                await self._cancel(player)
            case 2 | 3 | 4 | 5 | 6:
                await self._enqueue(Wish(player, "", ticket_id, ESLI))
            case 7 | 8 | 9 | 10 | 11:
                self._codes.append(ticket_id)
                opening = Wish(player, "", ticket_id, ESLI, party_code=ticket_id, opens_party=True)
                await self._enqueue(opening)
            case _:
                code = self.chance.choice(self._codes[-3:])
                await self._enqueue(Wish(player, "", ticket_id, ESLI, party_code=code))

    async def _enqueue(self, wish: Wish) -> None:
        try:
            await self.tickets.enqueue(wish, self.chance.choice((0, 0, 0, FRESH_MS)))
        except (TicketExists, PartyNotFound):
            return

    async def _cancel(self, player: str) -> None:
        try:
            await self.tickets.cancel(player)
        except TicketNotFound:
            return


def as_group(group_id: str, members: Sequence[Waiting]) -> Group:
    return group_of(group_id, ESLI, [(member, seat) for seat, member in enumerate(members)])


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_set_of_tickets_is_claimed_where_it_is_made_of_whole_units(
    redis: Redis, seed: int
) -> None:
    """A party is one unit for the planner, and one for the script: both or neither."""
    crowd = Crowd(redis, seed)
    rows = await crowd.come()
    units = [set(unit.tickets) for unit in units_of(rows)]
    assert {len(unit) for unit in units} == {1, 2}
    for number in range(60):
        some = crowd.chance.sample(rows, crowd.chance.randint(1, min(4, len(rows))))
        is_whole = set(some) == set().union(*(unit for unit in units if unit <= set(some)))
        assert await crowd.had(number, some) == is_whole, some


@pytest.mark.parametrize("seed", SEEDS)
async def test_whatever_is_planned_can_be_claimed(redis: Redis, seed: int) -> None:
    crowd = Crowd(redis, seed)
    window = RatingWindow(opens_after_ms=0)
    matches, _ = plan(units_of(await crowd.come()), 4, window, crowd.clock.now_ms())
    planned = [
        as_group(f"group{number}", [ticket for unit in match for ticket in unit.tickets])
        for number, match in enumerate(matches)
    ]
    assert planned
    assert [claim.group for claim in await crowd.groups.claim(planned)] == planned
