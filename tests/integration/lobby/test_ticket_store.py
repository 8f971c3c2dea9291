"""Tickets in a real Valkey: one live one a player, each in its place, none lost, none for ever."""

from collections.abc import AsyncIterator

import pytest

from okey.rules.variant import Mode
from okey_runtime.clock import VirtualClock
from okey_runtime.redis import open_redis
from services.lobby.group_store import GroupStore
from services.lobby.terms import Terms
from services.lobby.ticket import (
    PartyNotFound,
    QuickMatchFull,
    QuickMatchUnavailable,
    Ticket,
    TicketExists,
    TicketNotFound,
    TicketState,
    Wish,
)
from services.lobby.ticket_scripts import FRESH_MS, KEEP_MS, SILENCE_LIMIT_MS
from services.lobby.ticket_store import TicketStore
from tests.fixtures.valkey import Valkey

TWO = Terms.of(seat_count=2)
FOUR = Terms.of()
ESLI = Terms.of(mode=Mode.ESLI)
CODE = "0123456789abcdef0123"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


class Stores:
    """The players' side and the matchmaker's, on one Redis."""

    def __init__(self, valkey: Valkey, clock: VirtualClock) -> None:
        self.redis = open_redis(valkey.url)
        self.tickets = TicketStore(self.redis, clock)
        self.groups = GroupStore(self.redis, clock, "this-replica")
        self._clock = clock

    async def enqueue(self, *players: str, terms: Terms = TWO) -> None:
        for player in players:
            await self.tickets.enqueue(wish(player, terms))

    async def waiting(self, terms: Terms = TWO) -> list[str]:
        rows = await self.groups.begin_pass(terms)
        assert rows is not None
        return [row.player for row in rows]

    async def state(self, player: str) -> TicketState:
        return (await self.tickets.look(player)).state


@pytest.fixture
async def stores(valkey: Valkey, clock: VirtualClock) -> AsyncIterator[Stores]:
    stores = Stores(valkey, clock)
    yield stores
    await stores.redis.aclose()


def wish(
    player: str,
    terms: Terms = TWO,
    ticket_id: str = "",
    *,
    rating_milli: int = 0,
    house_fill_after_ms: int = 0,
    party_code: str = "",
    opens_party: bool = False,
) -> Wish:
    return Wish(
        player,
        player.title(),
        ticket_id or f"ticket-of-{player}",
        terms,
        rating_milli,
        house_fill_after_ms,
        party_code,
        opens_party,
    )


def opening(player: str, code: str = CODE) -> Wish:
    return wish(player, ESLI, party_code=code, opens_party=True)


def joining(player: str, code: str = CODE) -> Wish:
    return wish(player, FOUR, party_code=code)


async def test_a_player_has_one_live_ticket(stores: Stores) -> None:
    first = await stores.tickets.enqueue(wish("ada", ticket_id="first"))
    again = await stores.tickets.enqueue(wish("ada", ticket_id="second"))
    assert (first.ticket_id, again.ticket_id) == ("first", "first")
    assert again.state is TicketState.WAITING
    for other in (
        wish("ada", FOUR, "third"),
        wish("ada", ticket_id="third", house_fill_after_ms=5_000),
        wish("ada", ESLI, "third", party_code=CODE, opens_party=True),
    ):
        with pytest.raises(TicketExists, match="first"):
            await stores.tickets.enqueue(other)
    assert await stores.waiting() == ["ada"]


async def test_a_ticket_says_what_was_wished_for(stores: Stores) -> None:
    ticket = await stores.tickets.enqueue(
        wish("ada", FOUR, rating_milli=1_234_567, house_fill_after_ms=9_000)
    )
    now_ms = ticket.enqueued_ms
    assert ticket == Ticket(
        player="ada",
        ticket_id="ticket-of-ada",
        terms=FOUR,
        state=TicketState.WAITING,
        enqueued_ms=now_ms,
        since_ms=now_ms,
        rating_milli=1_234_567,
        waiting_count=1,
        house_fill_after_ms=9_000,
        display_name="Ada",
    )


async def test_tickets_wait_in_order_of_arrival_apart_from_other_terms(stores: Stores) -> None:
    await stores.enqueue("ada", "bo")
    await stores.enqueue("cem", terms=FOUR)
    await stores.enqueue("deniz")
    assert await stores.waiting() == ["ada", "bo", "deniz"]
    assert await stores.waiting(FOUR) == ["cem"]
    found = [(queue.terms, queue.length) for queue in await stores.groups.queues()]
    assert found == [(TWO, 3), (FOUR, 1)]


async def test_a_client_that_is_gone_is_not_matched_and_ends(
    stores: Stores, clock: VirtualClock
) -> None:
    """A crashed client is not matched: first it is passed over, then its ticket ends."""
    await stores.enqueue("ada", "bo")
    clock.advance_ms(FRESH_MS + 1)
    await stores.tickets.touch("bo")
    assert await stores.waiting() == ["bo"]
    assert await stores.state("ada") is TicketState.WAITING
    clock.advance_ms(SILENCE_LIMIT_MS - FRESH_MS)
    await stores.waiting()
    assert await stores.state("ada") is TicketState.EXPIRED
    assert (await stores.tickets.look("bo")).waiting_count == 1


async def test_a_client_that_is_back_in_time_keeps_its_place(
    stores: Stores, clock: VirtualClock
) -> None:
    await stores.enqueue("ada", "bo")
    clock.advance_ms(SILENCE_LIMIT_MS)
    for player in ("bo", "ada"):
        await stores.tickets.touch(player)
    assert await stores.waiting() == ["ada", "bo"]


async def test_a_client_that_comes_back_too_late_is_told_so(
    stores: Stores, clock: VirtualClock
) -> None:
    await stores.enqueue("ada")
    clock.advance_ms(SILENCE_LIMIT_MS + 1)
    ticket = await stores.tickets.touch("ada")
    assert (ticket.state, ticket.waiting_count) == (TicketState.EXPIRED, 0)
    anew = await stores.tickets.enqueue(wish("ada", FOUR, "anew"))
    assert (anew.ticket_id, anew.state) == ("anew", TicketState.WAITING)


async def test_a_silent_ticket_gives_way_to_a_new_one(stores: Stores, clock: VirtualClock) -> None:
    await stores.enqueue("ada")
    clock.advance_ms(SILENCE_LIMIT_MS + 1)
    await stores.tickets.enqueue(wish("ada", FOUR, "anew"))
    assert await stores.waiting() == []
    assert await stores.waiting(FOUR) == ["ada"]


async def test_who_only_looks_keeps_nobody_alive(stores: Stores, clock: VirtualClock) -> None:
    await stores.enqueue("ada")
    clock.advance_ms(FRESH_MS + 1)
    assert await stores.state("ada") is TicketState.WAITING
    assert await stores.waiting() == []


async def test_a_cancelled_ticket_waits_no_longer(stores: Stores) -> None:
    await stores.enqueue("ada", "bo")
    for reason in ("OPERATOR", "later"):
        ticket = await stores.tickets.cancel("ada", reason)
        assert (ticket.state, ticket.reason) == (TicketState.CANCELLED, "OPERATOR")
    assert await stores.waiting() == ["bo"]
    for call in (stores.tickets.cancel, stores.tickets.touch, stores.tickets.look):
        with pytest.raises(TicketNotFound):
            await call("cem")


async def test_many_tickets_are_read_at_once(stores: Stores) -> None:
    await stores.enqueue("ada", "bo")
    found = await stores.tickets.touch_all(["bo", "nobody", "ada"])
    assert [ticket and ticket.player for ticket in found] == ["bo", None, "ada"]


async def test_a_party_waits_for_its_partner_and_is_matched_then(stores: Stores) -> None:
    """O2: two play together once both are there; the one who came first keeps its place."""
    opener = await stores.tickets.enqueue(opening("ada"))
    assert (opener.state, opener.party_code) == (TicketState.AWAITING_PARTNER, CODE)
    await stores.enqueue("cem", terms=ESLI)
    assert await stores.waiting(ESLI) == ["cem"]
    partner = await stores.tickets.enqueue(joining("bo"))
    assert (partner.state, partner.terms, partner.partner) == (TicketState.WAITING, ESLI, "ada")
    rows = await stores.groups.begin_pass(ESLI)
    assert rows is not None
    assert [(row.player, row.partner) for row in rows] == [
        ("ada", "bo"),
        ("cem", ""),
        ("bo", "ada"),
    ]


async def test_joining_a_party_again_is_the_same_ticket(stores: Stores) -> None:
    await stores.tickets.enqueue(opening("ada"))
    first = await stores.tickets.enqueue(joining("bo"))
    again = await stores.tickets.enqueue(wish("bo", ticket_id="again", party_code=CODE))
    assert again.ticket_id == first.ticket_id
    assert (await stores.tickets.enqueue(opening("ada"))).partner == "bo"


@pytest.mark.parametrize("why", ["never was", "full", "over", "silent"])
async def test_nobody_joins_a_party_that_does_not_wait(
    stores: Stores, clock: VirtualClock, why: str
) -> None:
    if why != "never was":
        await stores.tickets.enqueue(opening("ada"))
    if why == "full":
        await stores.tickets.enqueue(joining("bo"))
    if why == "over":
        await stores.tickets.cancel("ada")
    if why == "silent":
        clock.advance_ms(SILENCE_LIMIT_MS + 1)
    with pytest.raises(PartyNotFound, match=CODE):
        await stores.tickets.enqueue(joining("cem"))
    with pytest.raises(TicketNotFound):
        await stores.tickets.look("cem")


@pytest.mark.parametrize("who", ["ada", "bo"])
async def test_whose_partner_goes_waits_for_one_again(stores: Stores, who: str) -> None:
    """The one who stays keeps its place, and plays with no stranger it did not ask for."""
    await stores.tickets.enqueue(opening("ada"))
    await stores.tickets.enqueue(joining("bo"))
    await stores.tickets.cancel(who)
    other = "bo" if who == "ada" else "ada"
    left = await stores.tickets.look(other)
    assert (left.state, left.partner, left.party_code) == (TicketState.AWAITING_PARTNER, "", CODE)
    assert await stores.waiting(ESLI) == []
    await stores.tickets.enqueue(joining("cem"))
    assert sorted(await stores.waiting(ESLI)) == sorted([other, "cem"])


async def test_a_partner_that_fell_silent_is_no_partner(
    stores: Stores, clock: VirtualClock
) -> None:
    await stores.tickets.enqueue(opening("ada"))
    await stores.tickets.enqueue(joining("bo"))
    clock.advance_ms(SILENCE_LIMIT_MS)
    await stores.tickets.touch("ada")
    clock.advance_ms(1)
    await stores.waiting(ESLI)
    assert await stores.state("bo") is TicketState.EXPIRED
    assert await stores.state("ada") is TicketState.AWAITING_PARTNER


async def test_a_held_ticket_is_not_matched_until_it_is_let_go(stores: Stores) -> None:
    held = await stores.tickets.enqueue(wish("ada"), held_ms=5_000)
    await stores.enqueue("bo")
    assert held.state is TicketState.WAITING
    assert await stores.waiting() == ["bo"]
    await stores.tickets.let_go("ada", "another ticket")
    assert await stores.waiting() == ["bo"]
    assert (await stores.tickets.let_go("ada", held.ticket_id)).ticket_id == held.ticket_id
    assert await stores.waiting() == ["ada", "bo"]


async def test_a_ticket_is_not_held_for_ever(stores: Stores, clock: VirtualClock) -> None:
    """Whoever was to let it go is gone, and the client is still there."""
    await stores.tickets.enqueue(wish("ada"), held_ms=5_000)
    clock.advance_ms(4_999)
    await stores.tickets.touch("ada")
    assert await stores.waiting() == []
    clock.advance_ms(1)
    assert await stores.waiting() == ["ada"]


async def test_asking_again_holds_a_live_ticket_or_lets_it_go(stores: Stores) -> None:
    for held_ms, waiting in ((5_000, []), (0, ["ada"]), (5_000, [])):
        await stores.tickets.enqueue(wish("ada"), held_ms)
        assert await stores.waiting() == waiting


async def test_the_queue_has_a_bound(stores: Stores, clock: VirtualClock) -> None:
    small = TicketStore(stores.redis, clock, most_live=2)
    await small.enqueue(wish("ada"))
    await small.enqueue(wish("bo", FOUR))
    with pytest.raises(QuickMatchFull, match="2"):
        await small.enqueue(wish("cem"))
    assert (await small.enqueue(wish("ada"))).state is TicketState.WAITING
    await small.cancel("bo")
    await small.enqueue(wish("cem"))


async def test_live_tickets_are_listed_in_order_of_arrival(stores: Stores) -> None:
    await stores.enqueue("ada", "bo", "cem")
    await stores.enqueue("deniz", terms=FOUR)
    await stores.tickets.cancel("bo")
    first = await stores.tickets.list_live(0, 2)
    assert [ticket.player for _, ticket in first] == ["ada", "cem"]
    rest = await stores.tickets.list_live(first[-1][0], 2)
    assert [ticket.player for _, ticket in rest] == ["deniz"]


async def test_every_key_lies_in_one_slot_and_goes_away(stores: Stores, valkey: Valkey) -> None:
    await stores.enqueue("ada")
    await stores.tickets.enqueue(opening("bo"))
    keys = [bytes(key).decode() for key in await stores.redis.keys("*") if isinstance(key, bytes)]
    assert all(key.startswith("okey:{quick-match}:") for key in keys)
    for name in ("ticket:ada", "ticket:bo", f"party:{CODE}"):
        assert 0 < await stores.redis.pttl(f"okey:{{quick-match}}:{name}") <= KEEP_MS


async def test_no_name_is_kept_when_a_ticket_is_over(stores: Stores) -> None:
    await stores.enqueue("ada")
    await stores.tickets.cancel("ada")
    kept = await stores.redis.hgetall("okey:{quick-match}:ticket:ada")
    assert b"Ada" not in kept.values()
    assert b"name" not in kept


async def test_without_redis_quick_match_says_so_and_is_right_again(
    stores: Stores, valkey: Valkey
) -> None:
    await stores.enqueue("ada")
    valkey.kill()
    for call in (stores.tickets.touch("ada"), stores.groups.queues(), stores.groups.reclaim()):
        with pytest.raises(QuickMatchUnavailable):
            await call
    valkey.start()
    with pytest.raises(TicketNotFound):
        await stores.tickets.touch("ada")
    await stores.enqueue("ada", "bo")
    assert await stores.waiting() == ["ada", "bo"]


async def test_a_ticket_whose_hash_is_gone_leaves_the_queue(stores: Stores) -> None:
    await stores.enqueue("ada", "bo")
    await stores.redis.delete("okey:{quick-match}:ticket:ada")
    assert await stores.waiting() == ["bo"]
    assert [ticket.player for _, ticket in await stores.tickets.list_live(0, 9)] == ["bo"]
