"""Tickets in a real Valkey: one live one a player, each in its place, none lost, none for ever."""

from collections.abc import AsyncIterator

import pytest

from okey_runtime.clock import VirtualClock
from okey_runtime.redis import open_redis
from services.lobby.terms import Terms
from services.lobby.ticket import (
    Claim,
    TicketBeingSeated,
    TicketExists,
    TicketNotFound,
    TicketState,
)
from services.lobby.ticket_store import (
    KEEP_MS,
    LEASE_MS,
    SILENCE_LIMIT_MS,
    QuickMatchUnavailable,
    TicketStore,
)
from tests.fixtures.valkey import Valkey

TWO = Terms.of(seat_count=2)
FOUR = Terms.of()
TABLE = "t" * 26


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def store(valkey: Valkey, clock: VirtualClock) -> AsyncIterator[TicketStore]:
    redis = open_redis(valkey.url)
    yield TicketStore(redis, clock)
    await redis.aclose()


async def enqueue(store: TicketStore, *players: str, terms: Terms = TWO) -> None:
    for player in players:
        await store.enqueue(player, player.title(), f"ticket-of-{player}", terms)


async def claim(store: TicketStore, count: int = 2, terms: Terms = TWO) -> list[Claim]:
    return await store.claim(terms, at_least=count, at_most=count)


def names(claims: list[Claim]) -> list[str]:
    return [claimed.player for claimed in claims]


async def test_a_player_has_one_live_ticket(store: TicketStore) -> None:
    first = await store.enqueue("ada", "Ada", "first", TWO)
    again = await store.enqueue("ada", "Ada", "second", TWO)
    assert (first.ticket_id, again.ticket_id) == ("first", "first")
    assert again.state is TicketState.WAITING
    with pytest.raises(TicketExists, match="first"):
        await store.enqueue("ada", "Ada", "third", FOUR)
    assert await claim(store, 2) == []


async def test_tickets_that_fit_are_claimed_in_order_of_arrival(store: TicketStore) -> None:
    await enqueue(store, "ada", "bo", "cem")
    claims = await claim(store)
    assert [(c.ticket_id, c.player, c.display_name) for c in claims] == [
        ("ticket-of-ada", "ada", "Ada"),
        ("ticket-of-bo", "bo", "Bo"),
    ]
    assert await claim(store) == []
    assert (await store.touch("ada")).state is TicketState.SEATING
    assert (await store.touch("cem")).state is TicketState.WAITING


async def test_other_terms_wait_apart(store: TicketStore) -> None:
    await enqueue(store, "ada")
    await enqueue(store, "bo", terms=FOUR)
    assert await store.waiting_terms() == [TWO, FOUR]
    assert await claim(store) == []
    assert names(await claim(store, 1, FOUR)) == ["bo"]
    assert await store.waiting_terms() == [TWO]


async def test_a_claim_takes_no_more_than_asked(store: TicketStore) -> None:
    await enqueue(store, "ada", "bo", "cem")
    assert names(await store.claim(TWO, at_least=1, at_most=2)) == ["ada", "bo"]
    assert names(await store.claim(TWO, at_least=1, at_most=2)) == ["cem"]


async def test_a_silent_client_is_not_matched(store: TicketStore, clock: VirtualClock) -> None:
    await enqueue(store, "ada", "bo")
    clock.advance_ms(SILENCE_LIMIT_MS)
    await store.touch("bo")
    clock.advance_ms(1)
    await enqueue(store, "cem")
    assert names(await claim(store)) == ["bo", "cem"]
    assert (await store.touch("ada")).state is TicketState.EXPIRED


async def test_a_client_that_comes_back_too_late_is_told_so(
    store: TicketStore, clock: VirtualClock
) -> None:
    await enqueue(store, "ada")
    clock.advance_ms(SILENCE_LIMIT_MS + 1)
    assert (await store.touch("ada")).state is TicketState.EXPIRED
    assert (await store.touch("ada")).waiting_count == 0
    anew = await store.enqueue("ada", "Ada", "anew", FOUR)
    assert (anew.ticket_id, anew.state) == ("anew", TicketState.WAITING)


async def test_a_silent_ticket_gives_way_to_a_new_one(
    store: TicketStore, clock: VirtualClock
) -> None:
    await enqueue(store, "ada")
    clock.advance_ms(SILENCE_LIMIT_MS + 1)
    await store.enqueue("ada", "Ada", "anew", FOUR)
    assert await claim(store, 1) == []
    assert names(await claim(store, 1, FOUR)) == ["ada"]


async def test_a_cancelled_ticket_is_not_matched(store: TicketStore) -> None:
    await enqueue(store, "ada", "bo")
    assert (await store.cancel("ada")).state is TicketState.CANCELLED
    assert (await store.cancel("ada")).state is TicketState.CANCELLED
    assert names(await claim(store, 1)) == ["bo"]
    with pytest.raises(TicketNotFound):
        await store.cancel("cem")
    with pytest.raises(TicketNotFound):
        await store.touch("cem")


async def test_a_ticket_being_seated_cannot_be_taken_back_or_doubled(store: TicketStore) -> None:
    await enqueue(store, "ada")
    await claim(store, 1)
    with pytest.raises(TicketBeingSeated):
        await store.cancel("ada")
    again = await store.enqueue("ada", "Ada", "second", TWO)
    assert (again.ticket_id, again.state) == ("ticket-of-ada", TicketState.SEATING)


async def test_a_seated_ticket_is_over(store: TicketStore) -> None:
    await enqueue(store, "ada")
    (ada,) = await claim(store, 1)
    await store.seated(ada, TABLE, 1)
    ticket = await store.touch("ada")
    assert (ticket.state, ticket.table_id, ticket.seat) == (TicketState.SEATED, TABLE, 1)
    anew = await store.enqueue("ada", "Ada", "anew", TWO)
    assert (anew.ticket_id, anew.state, anew.table_id) == ("anew", TicketState.WAITING, "")


async def test_a_dropped_ticket_says_why(store: TicketStore) -> None:
    await enqueue(store, "ada")
    (ada,) = await claim(store, 1)
    await store.dropped(ada, "INSUFFICIENT_FUNDS")
    ticket = await store.touch("ada")
    assert (ticket.state, ticket.reason) == (TicketState.DROPPED, "INSUFFICIENT_FUNDS")


async def test_who_is_put_back_keeps_the_place(store: TicketStore) -> None:
    await enqueue(store, "ada", "bo", "cem")
    ada, bo = await claim(store)
    await store.put_back(bo)
    await store.dropped(ada, "INSUFFICIENT_FUNDS")
    assert names(await claim(store)) == ["bo", "cem"]


async def test_putting_back_does_not_keep_a_silent_ticket_alive(
    store: TicketStore, clock: VirtualClock
) -> None:
    await enqueue(store, "ada")
    for _ in range(3):
        for claimed in await claim(store, 1):
            await store.put_back(claimed)
        clock.advance_ms(SILENCE_LIMIT_MS // 2 + 1)
    assert await claim(store, 1) == []


async def test_a_client_is_heard_while_it_is_being_seated(
    store: TicketStore, clock: VirtualClock
) -> None:
    await enqueue(store, "ada")
    (ada,) = await claim(store, 1)
    clock.advance_ms(SILENCE_LIMIT_MS + 1)
    assert (await store.touch("ada")).state is TicketState.SEATING
    await store.put_back(ada)
    assert names(await claim(store, 1)) == ["ada"]


async def test_a_claim_of_a_dead_replica_comes_back(
    store: TicketStore, clock: VirtualClock
) -> None:
    await enqueue(store, "ada", "bo")
    (ada, bo) = await claim(store)
    await store.seated(bo, TABLE, 0)
    assert await store.reclaim() == []
    clock.advance_ms(LEASE_MS)
    assert names(await store.reclaim()) == ["ada"]
    assert await store.reclaim() == []
    await store.put_back(ada)
    clock.advance_ms(LEASE_MS)
    assert await store.reclaim() == []


async def test_a_seat_is_real_even_where_the_claim_was_lost(
    store: TicketStore, clock: VirtualClock
) -> None:
    await enqueue(store, "ada")
    (slow,) = await claim(store, 1)
    clock.advance_ms(LEASE_MS)
    for claimed in await store.reclaim():
        await store.put_back(claimed)
    await store.seated(slow, TABLE, 2)
    assert (await store.touch("ada")).state is TicketState.SEATED
    assert await claim(store, 1) == []


async def test_an_old_claim_does_not_touch_a_new_ticket(store: TicketStore) -> None:
    await enqueue(store, "ada")
    (old,) = await claim(store, 1)
    await store.dropped(old, "INSUFFICIENT_FUNDS")
    await store.enqueue("ada", "Ada", "anew", TWO)
    await store.seated(old, TABLE, 0)
    await store.put_back(old)
    assert (await store.touch("ada")).state is TicketState.WAITING
    assert (await store.touch("ada")).ticket_id == "anew"


async def test_waiting_count_is_that_of_the_terms(store: TicketStore) -> None:
    await enqueue(store, "ada", "bo", "cem")
    await enqueue(store, "deniz", terms=FOUR)
    assert (await store.touch("ada")).waiting_count == 3
    assert (await store.touch("deniz")).waiting_count == 1


async def test_every_key_lies_in_one_slot_and_goes_away(store: TicketStore, valkey: Valkey) -> None:
    await enqueue(store, "ada", "bo")
    await claim(store, 1)
    redis = open_redis(valkey.url)
    keys = [bytes(key).decode() for key in await redis.keys("*") if isinstance(key, bytes)]
    assert keys
    assert all(key.startswith("okey:{quick-match}:") for key in keys)
    left_ms = await redis.pttl("okey:{quick-match}:ticket:bo")
    assert 0 < left_ms <= KEEP_MS
    await redis.aclose()


async def test_no_name_is_kept_when_a_ticket_is_over(store: TicketStore, valkey: Valkey) -> None:
    await enqueue(store, "ada", "bo", "cem")
    ada, bo = await claim(store)
    await store.seated(ada, TABLE, 0)
    await store.dropped(bo, "INSUFFICIENT_FUNDS")
    await store.cancel("cem")
    redis = open_redis(valkey.url)
    for player in ("ada", "bo", "cem"):
        assert not await redis.hexists(f"okey:{{quick-match}}:ticket:{player}", "name")
    await redis.aclose()


async def test_without_redis_quick_match_says_so(store: TicketStore, valkey: Valkey) -> None:
    await enqueue(store, "ada")
    valkey.kill()
    with pytest.raises(QuickMatchUnavailable):
        await store.touch("ada")
    valkey.start()
    with pytest.raises(TicketNotFound):
        await store.touch("ada")
