"""Quick match pass by pass: a real Valkey, and tables in memory that hold the truth about seats."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from okey.rules.variant import Mode
from okey_runtime.clock import VirtualClock
from okey_runtime.redis import open_redis
from services.lobby.filling import Filling
from services.lobby.group import Claim, Group, Member
from services.lobby.group_store import LEASE_MS, GroupStore
from services.lobby.match_tables import NoRoom, SeatAnswer, Sits, Unknown
from services.lobby.matchmaker import Matchmaker
from services.lobby.seating import LEFT_TABLE, Seating
from services.lobby.terms import Terms
from services.lobby.ticket import QuickMatchUnavailable, Ticket, TicketState, Wish
from services.lobby.ticket_scripts import FRESH_MS
from services.lobby.ticket_store import TicketStore
from services.lobby.windows import RatingWindow
from tests.fixtures.match_tables import CHIPS, MemoryTable, MemoryTables, SameRatings
from tests.fixtures.valkey import Valkey

TWO = Terms.of(seat_count=2)
FOUR = Terms.of()
ESLI = Terms.of(mode=Mode.ESLI)
OPEN = "w" * 26


class FlakyTables(MemoryTables):
    """Tables whose replies get lost for those in ``lost``: it is done, and nobody hears of it."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: set[str] = set()
        self.is_away = False

    async def open(
        self, request_id: str, player: str, name: str, terms: Terms, house_fill_after_ms: int
    ) -> SeatAnswer:
        if self.is_away:
            return Unknown("away")
        answer = await super().open(request_id, player, name, terms, house_fill_after_ms)
        return self._heard(player, answer)

    async def take(
        self, table_id: str, request_id: str, player: str, name: str, seat: int
    ) -> SeatAnswer:
        if self.is_away:
            return Unknown("away")
        answer = await super().take(table_id, request_id, player, name, seat)
        return self._heard(player, answer)

    def _heard(self, player: str, answer: SeatAnswer) -> SeatAnswer:
        return Unknown("the reply was lost") if player in self.lost else answer


class NoticedClock(VirtualClock):
    """Tells when somebody has gone to sleep on it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_slept_on = asyncio.Event()

    async def sleep_until_ms(self, monotonic_ms: int) -> None:
        self.is_slept_on.set()
        await super().sleep_until_ms(monotonic_ms)


class World:
    """Two replicas around one set of tables; their clock stands still until it is turned."""

    def __init__(self, valkey: Valkey) -> None:
        self.clock = NoticedClock()
        self.tables = FlakyTables()
        self.ratings = SameRatings()
        self.has_bots = True
        self.redis = open_redis(valkey.url)
        self.store = TicketStore(self.redis, self.clock)
        self.groups = [GroupStore(self.redis, self.clock, name) for name in ("one", "two")]
        self.seatings = [Seating(groups, self.tables, self.clock) for groups in self.groups]
        self.replicas = [self._matchmaker(number) for number in range(2)]
        self._players: list[str] = []
        self._numbers = 0

    async def enqueue(self, *players: str, terms: Terms = TWO, rating: int = 1_200) -> None:
        for player in players:
            await self.wish(player, terms, rating)

    async def wish(
        self,
        player: str,
        terms: Terms = TWO,
        rating: int = 1_200,
        fill_ms: int = 0,
        code: str = "",
        opens: bool = False,
    ) -> Ticket:
        self._players.append(player)
        self._numbers += 1
        return await self.store.enqueue(
            Wish(
                player,
                player.title(),
                f"{player}-{self._numbers}",
                terms,
                rating * 1_000,
                fill_ms,
                code,
                opens,
            )
        )

    async def match(self, replica: int = 0) -> None:
        """A pass of a replica, and every group it has claimed is seated or waits for the clock."""
        self.clock.is_slept_on.clear()
        await self.replicas[replica].run_once()
        await self._until_quiet(replica)

    async def go_on(self, by_ms: int, replica: int = 0) -> None:
        """Time goes by, and groups that waited for it are seated or wait for it again."""
        self.clock.is_slept_on.clear()
        await self.wait(by_ms)
        await self._until_quiet(replica)

    async def _until_quiet(self, replica: int) -> None:
        seating = asyncio.create_task(self.replicas[replica].seated())
        sleeping = asyncio.create_task(self.clock.is_slept_on.wait())
        await asyncio.wait([seating, sleeping], return_when=asyncio.FIRST_COMPLETED)
        sleeping.cancel()

    async def wait(self, by_ms: int) -> None:
        """Time goes by while every client is there."""
        while by_ms > 0:
            step_ms = min(by_ms, FRESH_MS)
            self.clock.advance_ms(step_ms)
            by_ms -= step_ms
            if self._players:
                await self.store.touch_all(self._players)

    async def ticket(self, player: str) -> Ticket:
        return await self.store.look(player)

    async def states(self, *players: str) -> list[TicketState]:
        return [(await self.ticket(player)).state for player in players]

    def sitting(self) -> list[list[str]]:
        """Who sits together."""
        tables = [table for table in self.tables.tables.values() if not table.is_closed]
        return sorted(sorted(table.players.values()) for table in tables)

    def put(self, table_id: str = OPEN, terms: Terms = TWO, **players: int) -> MemoryTable:
        """A table that is there already."""
        table = MemoryTable(terms, 0, {seat: player for player, seat in players.items()})
        self.tables.tables[table_id] = table
        return table

    async def close(self) -> None:
        await self.redis.aclose()

    async def _may_use_bots(self) -> bool:
        return self.has_bots

    def _matchmaker(self, number: int) -> Matchmaker:
        window = RatingWindow()
        filling = Filling(self.tables, self.tables, self.ratings, self.store, window, self.clock)
        return Matchmaker(
            self.groups[number],
            self.seatings[number],
            filling,
            self._may_use_bots,
            window,
            self.clock,
        )


@pytest.fixture
async def world(valkey: Valkey) -> AsyncIterator[World]:
    world = World(valkey)
    yield world
    await world.close()


SEATED, WAITING, SEATING = TicketState.SEATED, TicketState.WAITING, TicketState.SEATING
DROPPED = TicketState.DROPPED


async def test_tickets_that_fit_are_seated_together(world: World) -> None:
    await world.enqueue("ada", "bo", "cem", "deniz", "ece")
    await world.match()
    assert world.sitting() == [["ada", "bo"], ["cem", "deniz"]]
    ada, bo = await world.ticket("ada"), await world.ticket("bo")
    assert (ada.state, ada.seat, bo.state, bo.seat) == (SEATED, 0, SEATED, 1)
    assert ada.table_id == bo.table_id
    assert await world.states("ece") == [WAITING]


async def test_the_table_has_the_terms_of_the_tickets(world: World) -> None:
    """Ç0, O2: the terms that the tickets name, and nobody else's."""
    await world.enqueue("ada", "bo", "cem", "deniz", terms=ESLI)
    await world.enqueue("ece", terms=FOUR)
    await world.match()
    (table,) = world.tables.tables.values()
    assert (table.terms, table.house_fill_after_ms) == (ESLI, 0)
    assert sorted(table.players) == [0, 1, 2, 3]


async def test_ratings_decide_who_plays_whom(world: World) -> None:
    await world.wish("ada", rating=1_000)
    await world.wish("bo", rating=2_000)
    await world.match()
    assert world.sitting() == []
    await world.wish("cem", rating=1_950)
    await world.match()
    assert world.sitting() == [["bo", "cem"]]
    await world.wish("deniz", rating=2_500)
    await world.wait(30_000)
    await world.match()
    assert world.sitting() == [["ada", "deniz"], ["bo", "cem"]]


async def test_partners_sit_opposite(world: World) -> None:
    """O2: a party of two."""
    await world.wish("ada", ESLI, code="c0de", opens=True)
    await world.enqueue("cem", "deniz", terms=ESLI)
    await world.match()
    assert world.sitting() == []
    await world.wish("bo", code="c0de")
    await world.match()
    (table,) = world.tables.tables.values()
    assert (table.seat_of("ada"), table.seat_of("bo")) == (0, 2)


async def test_who_cannot_pay_drops_out_alone(world: World) -> None:
    """M2: another player's refusal punishes nobody; the others keep their place."""
    world.tables.chips["cem"] = 0
    await world.enqueue("ada", "bo", "cem", "deniz", "ece", terms=FOUR)
    await world.match()
    cem = await world.ticket("cem")
    assert (cem.state, cem.reason) == (DROPPED, "INSUFFICIENT_FUNDS")
    assert world.sitting() == []
    assert [world.tables.chips.get(p, CHIPS) for p in ("ada", "bo", "deniz")] == [CHIPS] * 3
    await world.match()
    assert world.sitting() == [["ada", "bo", "deniz", "ece"]]


async def test_no_table_is_left_where_its_maker_cannot_pay(world: World) -> None:
    """M2: nor do the others lose their place by it."""
    world.tables.chips["ada"] = 0
    await world.enqueue("ada", "bo", "cem")
    await world.match()
    assert await world.states("ada", "bo", "cem") == [DROPPED, WAITING, WAITING]
    await world.match()
    assert world.sitting() == [["bo", "cem"]]


async def test_a_waiting_table_with_the_same_terms_is_filled_first(world: World) -> None:
    world.put(host=1)
    await world.enqueue("ada", "bo")
    await world.match()
    assert world.sitting() == [["ada", "host"]]
    assert (await world.ticket("ada")).table_id == OPEN
    assert await world.states("bo") == [WAITING]


async def test_a_waiting_table_is_filled_by_who_fits_its_people(world: World) -> None:
    world.ratings.ratings["host"] = 2_000_000
    world.put(host=1)
    await world.enqueue("ada")
    await world.wish("bo", rating=1_950)
    await world.match()
    assert world.sitting() == [["bo", "host"]]


async def test_a_party_takes_only_opposite_seats(world: World) -> None:
    """O2: partners sit opposite at a waiting table too."""
    table = world.put(terms=ESLI, host=1, other=2)
    await world.wish("ada", ESLI, code="c0de", opens=True)
    await world.wish("bo", code="c0de")
    await world.match()
    assert table.players == {1: "host", 2: "other"}
    table.players = {1: "host"}
    await world.match()
    assert table.players == {1: "host", 0: "ada", 2: "bo"}


async def test_a_table_that_bots_will_fill_is_for_those_who_allow_bots(world: World) -> None:
    """W5: nobody who did not ask for bots gets an unrated match."""
    world.put(host=1).house_fill_after_ms = 9_000
    await world.enqueue("ada")
    await world.match()
    assert world.sitting() == [["host"]]
    await world.wish("bo", fill_ms=60_000)
    await world.match()
    assert world.sitting() == [["bo", "host"]]


async def test_nobody_gets_into_a_table_that_quick_match_is_filling(world: World) -> None:
    """The first of a group sits already, and the others' seats are taken next."""
    await world.enqueue("ada", "bo", terms=FOUR)
    rows = await world.groups[1].begin_pass(FOUR)
    assert rows is not None
    members = tuple(
        Member(row.player, row.ticket_id, row.display_name, seat) for seat, row in enumerate(rows)
    )
    await world.groups[1].claim([Group("forming", FOUR, members)])
    await world.groups[1].end_pass(FOUR)
    world.put(terms=FOUR, ada=0)
    await world.enqueue("cem", terms=FOUR)
    await world.match()
    assert await world.states("cem") == [WAITING]


async def test_a_seat_that_was_taken_meanwhile_costs_nobody_the_place(world: World) -> None:
    await world.enqueue("ada", "bo")
    world.put(host=1)

    async def stolen(*_: object) -> SeatAnswer:
        world.tables.tables[OPEN].players[0] = "quick"
        world.tables.__dict__.pop("take")
        return NoRoom("SEAT_TAKEN")

    world.tables.__dict__["take"] = stolen
    await world.match()
    assert await world.states("ada", "bo") == [WAITING, WAITING]
    await world.match()
    assert world.sitting() == [["ada", "bo"], ["host", "quick"]]


async def test_who_left_a_table_late_is_not_sent_there_again(world: World) -> None:
    """W2: joining and leaving for ever keeps no table from starting."""
    table = world.put(host=1)
    table.left_late.add("ada")
    await world.enqueue("ada")
    await world.match()
    assert (await world.ticket("ada")).state is WAITING
    await world.enqueue("bo")
    await world.match()
    assert table.players == {0: "bo", 1: "host"}


async def test_who_sits_elsewhere_is_led_back(world: World) -> None:
    """W3: a player of a running match is led back to it, and nobody sits twice."""
    world.put(bo=1, host=0)
    await world.enqueue("ada", "bo", "cem")
    await world.match()
    bo = await world.ticket("bo")
    assert (bo.state, bo.table_id, bo.seat) == (SEATED, OPEN, 1)
    await world.match()
    assert world.sitting() == [["ada", "cem"], ["bo", "host"]]


@pytest.mark.parametrize("player", ["ada", "bo"])
async def test_a_lost_reply_seats_nobody_twice_and_makes_no_twin(world: World, player: str) -> None:
    """A create that timed out yields no twin: the same request finds what it has made."""
    world.tables.lost = {player}
    await world.enqueue("ada", "bo")
    await world.match()
    assert await world.states("ada", "bo") == [SEATING, SEATING]
    world.tables.lost = set()
    await world.wait(LEASE_MS)
    await world.replicas[0].seated()
    await world.match(1)
    assert await world.states("ada", "bo") == [SEATED, SEATED]
    assert world.sitting() == [["ada", "bo"]]
    assert world.tables.chips == {"ada": CHIPS - 50, "bo": CHIPS - 50}


async def test_an_engine_that_is_away_loses_no_ticket(world: World) -> None:
    world.tables.is_away = True
    await world.enqueue("ada", "bo", "cem", "deniz")
    await world.match()
    await world.wait(5_000)
    assert await world.states("ada", "bo") == [SEATING, SEATING]
    world.tables.is_away = False
    await world.wait(5_500)
    await world.replicas[0].seated()
    await world.match()
    assert world.sitting() == [["ada", "bo"], ["cem", "deniz"]]


async def test_an_engine_without_room_is_left_alone_for_a_moment(world: World) -> None:
    world.tables.is_full = True
    await world.enqueue("ada", "bo")
    await world.match()
    assert await world.states("ada", "bo") == [WAITING, WAITING]
    world.tables.is_full = False
    await world.match()
    assert world.sitting() == []
    await world.wait(1_000)
    await world.match()
    assert world.sitting() == [["ada", "bo"]]


async def test_nobody_is_told_of_a_match_before_every_stake_is_held(world: World) -> None:
    """M2: all stakes or none; meanwhile the player sees the table where it sits."""
    world.tables.slow = {"bo"}
    await world.enqueue("ada", "bo")
    await world.match()
    await world.go_on(600)
    ada = await world.ticket("ada")
    assert (ada.state, ada.table_id) == (SEATING, world.tables.where("ada"))
    world.tables.pay("bo")
    await world.go_on(600)
    assert await world.states("ada", "bo") == [SEATED, SEATED]


async def test_tickets_that_are_taken_back_spoil_no_pass(world: World) -> None:
    """However often one of a planned group goes in that moment, who still fits is seated."""
    await world.enqueue("ada", "bo", "cem", "deniz", "ece", "fidan", "gul", terms=FOUR)
    whole, going = world.groups[0].claim, ["deniz", "ece", "fidan"]

    async def spoilt(groups: Sequence[Group]) -> list[Claim]:
        if going:
            await world.store.cancel(going.pop(0))
        return await whole(groups)

    world.groups[0].__dict__["claim"] = spoilt
    await world.match()
    assert world.sitting() == [["ada", "bo", "cem", "gul"]]


async def test_a_slow_wallet_keeps_nobody_else_waiting(world: World) -> None:
    """One stake that is being asked for is its group's affair; the next pass has who fits."""
    world.tables.slow = {"bo"}
    await world.enqueue("ada", "bo")
    await world.match()
    await world.go_on(600)
    await world.enqueue("cem", "deniz")
    await world.replicas[0].run_once()
    assert await world.states("ada", "bo") == [SEATING, SEATING]
    assert WAITING not in await world.states("cem", "deniz")


async def test_who_leaves_while_others_are_seated_goes_alone(world: World) -> None:
    """W2: leaving is free, and the others keep their place."""
    world.tables.slow = {"bo"}
    await world.enqueue("ada", "bo")
    await world.match()
    table_id = world.tables.where("ada")
    assert table_id is not None
    world.tables.walk_out(table_id, "ada")
    await world.go_on(600)
    ada = await world.ticket("ada")
    assert (ada.state, ada.reason) == (TicketState.CANCELLED, LEFT_TABLE)
    assert await world.states("bo") == [WAITING]
    assert world.sitting() == []


async def test_a_dead_replicas_group_is_seated_by_another(world: World) -> None:
    await world.enqueue("ada", "bo")
    rows = await world.groups[0].begin_pass(TWO)
    assert rows is not None
    members = tuple(Member(r.player, r.ticket_id, r.display_name, s) for s, r in enumerate(rows))
    await world.groups[0].claim([Group("lost", TWO, members)])
    await world.tables.open("quick-lost", "ada", "Ada", TWO, 0)
    await world.match(1)
    assert world.sitting() == [["ada"]]
    await world.wait(LEASE_MS)
    await world.match(1)
    assert world.sitting() == [["ada", "bo"]]
    assert await world.states("ada", "bo") == [SEATED, SEATED]


async def test_a_crashed_client_of_a_lost_group_is_not_seated(world: World) -> None:
    """A crashed client is not matched, and its seat is not left behind."""
    await world.enqueue("ada", "bo")
    rows = await world.groups[0].begin_pass(TWO)
    assert rows is not None
    members = tuple(Member(r.player, r.ticket_id, r.display_name, s) for s, r in enumerate(rows))
    await world.groups[0].claim([Group("lost", TWO, members)])
    await world.tables.open("quick-lost", "ada", "Ada", TWO, 0)
    world._players.remove("ada")
    await world.wait(LEASE_MS)
    await world.match(1)
    assert await world.states("ada", "bo") == [TicketState.EXPIRED, WAITING]
    assert world.sitting() == []
    assert world.tables.chips["ada"] == CHIPS


@pytest.mark.parametrize("who", ["the same", "another"])
async def test_what_was_decided_is_carried_out(world: World, who: str) -> None:
    """One outcome: seats that were to be given back are, whatever has changed meanwhile."""
    world.tables.chips["bo"] = 0
    await world.enqueue("ada", "bo", "cem")
    crashed: list[str] = []

    async def crash(table_id: str, request_id: str, player: str) -> Sits | Unknown | None:
        crashed.append(player)
        await MemoryTables.leave(world.tables, table_id, request_id, player)
        return Unknown("the replica is no more")

    world.tables.__dict__["leave"] = crash
    await world.match()
    del world.tables.__dict__["leave"]
    assert crashed
    world.tables.chips["bo"] = CHIPS
    if who == "another":
        await world.wait(LEASE_MS)
        await world.replicas[0].seated()
        await world.match(1)
    else:
        await world.go_on(5_000)
    assert await world.states("bo") == [DROPPED]
    await world.wait(1_000)
    await world.match(1)
    assert world.sitting() == [["ada", "cem"]]


async def test_a_replica_whose_lease_is_over_seats_nobody(world: World) -> None:
    world.put(host=1)
    await world.enqueue("ada")
    ticket_id = (await world.ticket("ada")).ticket_id
    group = Group("slow", TWO, (Member("ada", ticket_id, "Ada", 0),), OPEN)
    (claim,) = await world.groups[0].claim([group])
    await world.wait(LEASE_MS - 5_000)
    assert await world.seatings[0].seat(claim) is None
    assert world.tables.where("ada") is None
    late = Claim(group, 1, claim.until_ms + 60_000)
    await world.wait(5_000)
    assert await world.groups[1].reclaim() is not None
    assert await world.seatings[0].seat(late) is None


async def test_bots_fill_after_the_set_wait(world: World) -> None:
    """W5: off unless the player asks; the last five seconds pass at the table."""
    await world.wish("ada", FOUR, fill_ms=12_000)
    await world.enqueue("bo", terms=FOUR)
    await world.wait(6_000)
    await world.match()
    assert world.sitting() == []
    await world.wait(1_000)
    await world.match()
    (table,) = world.tables.tables.values()
    assert (table.players, table.house_fill_after_ms) == ({0: "ada"}, 5_000)
    assert await world.states("bo") == [WAITING]


async def test_no_bots_while_the_bank_is_low(world: World) -> None:
    """M7: what the house cannot pay it does not begin."""
    world.has_bots = False
    await world.wish("ada", FOUR, fill_ms=5_000)
    await world.match()
    assert world.sitting() == []


async def test_two_replicas_at_once_seat_everybody_once(world: World) -> None:
    players = [f"player{number:02}" for number in range(40)]
    await world.enqueue(*players)
    await asyncio.gather(*(replica.run_once() for replica in world.replicas))
    await asyncio.gather(*(replica.seated() for replica in world.replicas))
    assert sorted(name for table in world.sitting() for name in table) == players
    assert all(len(table) == 2 for table in world.sitting())


async def test_a_replica_that_drains_claims_nobody_new(world: World) -> None:
    await world.enqueue("ada", "bo")
    await world.replicas[0].drain()
    await world.match()
    assert world.sitting() == []
    await world.match(1)
    assert world.sitting() == [["ada", "bo"]]


async def test_without_redis_a_pass_says_so_and_tickets_are_right_again(
    world: World, valkey: Valkey
) -> None:
    valkey.kill()
    with pytest.raises(QuickMatchUnavailable):
        await world.replicas[0].run_once()
    valkey.start()
    await world.enqueue("ada", "bo")
    await world.match()
    assert world.sitting() == [["ada", "bo"]]
