"""Groups in a real Valkey: all of their tickets or none, one outcome, whoever holds them."""

from collections.abc import AsyncIterator, Sequence

import pytest

from okey.rules.variant import Mode
from okey_runtime.clock import VirtualClock
from okey_runtime.redis import open_redis
from services.lobby.engine_calls import CALL_MS
from services.lobby.group import Claim, Group, Outcome, Verdict, all_wait, group_of
from services.lobby.group_store import PASS_LEASE_MS, GroupStore
from services.lobby.leases import LEASE_MS, RENEW_MS, SKEW_MS, TURN_MS
from services.lobby.terms import Terms
from services.lobby.ticket import TicketBeingSeated, TicketState, Wish
from services.lobby.ticket_scripts import FRESH_MS, SILENCE_LIMIT_MS
from services.lobby.ticket_store import TicketStore
from tests.fixtures.valkey import Valkey

TWO = Terms.of(seat_count=2)
ESLI = Terms.of(mode=Mode.ESLI)
TABLE = "t" * 26


class World:
    """The matchmaker's stores of two replicas, and the players' one."""

    def __init__(self, valkey: Valkey, clock: VirtualClock) -> None:
        self.redis = open_redis(valkey.url)
        self.clock = clock
        self.tickets = TicketStore(self.redis, clock)
        self.first = GroupStore(self.redis, clock, "first")
        self.second = GroupStore(self.redis, clock, "second")

    async def enqueue(self, *players: str, terms: Terms = TWO) -> None:
        for player in players:
            wish = Wish(player, player.title(), f"ticket-of-{player}", terms)
            await self.tickets.enqueue(wish)

    async def planned(self, *players: str, terms: Terms = TWO, group_id: str = "group") -> Group:
        """A group of those players, as a plan has them."""
        rows = {row.player: row for row in await self.first.begin_pass(terms) or ()}
        seated = [(rows[player], seat) for seat, player in enumerate(players)]
        return group_of(group_id, terms, seated)

    async def claimed(self, *players: str) -> Claim:
        (claim,) = await self.first.claim([await self.planned(*players)])
        return claim

    async def states(self, *players: str) -> list[TicketState]:
        return [(await self.tickets.look(player)).state for player in players]


@pytest.fixture
async def world(valkey: Valkey) -> AsyncIterator[World]:
    world = World(valkey, VirtualClock())
    yield world
    await world.redis.aclose()


def verdict(claim: Claim, states: Sequence[TicketState], reason: str = "") -> Verdict:
    return tuple(
        Outcome(member, state, TABLE, member.seat, reason)
        for member, state in zip(claim.group.members, states, strict=True)
    )


async def test_a_group_has_all_its_tickets_or_none(world: World) -> None:
    await world.enqueue("ada", "bo", "cem")
    group, other = await world.planned("ada", "bo"), await world.planned("cem", "bo", group_id="o")
    claims = await world.first.claim([group, other])
    assert [claim.group for claim in claims] == [group]
    assert group.members[1].display_name == "Bo"
    assert await world.states("ada", "bo", "cem") == [
        TicketState.SEATING,
        TicketState.SEATING,
        TicketState.WAITING,
    ]
    with pytest.raises(TicketBeingSeated):
        await world.tickets.cancel("ada")
    again = await world.tickets.enqueue(Wish("ada", "Ada", "second", TWO))
    assert (again.ticket_id, again.state) == ("ticket-of-ada", TicketState.SEATING)


async def test_a_claim_whose_reply_was_lost_may_be_made_again(world: World) -> None:
    await world.enqueue("ada", "bo")
    group = await world.planned("ada", "bo")
    for _ in range(2):
        assert [claim.group for claim in await world.first.claim([group])] == [group]
    another = Group("another", group.terms, group.members)
    assert await world.second.claim([another]) == []


@pytest.mark.parametrize(
    "why", ["cancelled", "another ticket", "silent", "partner missing", "held"]
)
async def test_a_ticket_that_waits_no_longer_is_not_claimed(world: World, why: str) -> None:
    await world.enqueue("ada", "bo")
    group = await world.planned("ada", "bo")
    match why:
        case "cancelled":
            await world.tickets.cancel("bo")
        case "another ticket":
            await world.tickets.cancel("bo")
            await world.tickets.enqueue(Wish("bo", "Bo", "anew", TWO))
        case "silent":
            world.clock.advance_ms(FRESH_MS + 1)
            await world.tickets.touch("ada")
        case "held":
            await world.tickets.enqueue(Wish("bo", "Bo", "again", TWO), held_ms=1)
        case "partner missing":
            await world.redis.hset("okey:{quick-match}:ticket:bo", "partner", "cem")
    assert await world.first.claim([group]) == []
    assert await world.states("ada") == [TicketState.WAITING]
    assert await world.first.reclaim() is None


async def test_one_replica_at_a_time_passes_over_a_bucket(world: World) -> None:
    await world.enqueue("ada")
    assert await world.first.begin_pass(TWO) is not None
    assert await world.second.begin_pass(TWO) is None
    assert await world.first.begin_pass(TWO) is not None
    await world.second.end_pass(TWO)
    assert await world.second.begin_pass(TWO) is None
    await world.first.end_pass(TWO)
    assert await world.second.begin_pass(TWO) is not None
    world.clock.advance_ms(PASS_LEASE_MS)
    assert await world.first.begin_pass(TWO) is not None


async def test_every_ticket_gets_its_outcome_at_once(world: World) -> None:
    await world.enqueue("ada", "bo")
    claim = await world.claimed("ada", "bo")
    world.clock.advance_ms(800)
    outcomes = verdict(claim, [TicketState.SEATED, TicketState.DROPPED], "INSUFFICIENT_FUNDS")
    assert await world.first.settle(claim, outcomes) == [800]
    assert await world.first.settle(claim, outcomes) is None
    ada, bo = await world.tickets.look("ada"), await world.tickets.look("bo")
    assert (ada.state, ada.table_id, ada.seat) == (TicketState.SEATED, TABLE, 0)
    assert (bo.state, bo.reason) == (TicketState.DROPPED, "INSUFFICIENT_FUNDS")
    assert await world.first.reclaim() is None
    await world.enqueue("cem")
    assert (await world.tickets.look("cem")).typical_wait_ms == 800


async def test_who_waits_again_has_the_old_place(world: World) -> None:
    await world.enqueue("ada", "bo", "cem")
    claim = await world.claimed("ada", "bo")
    await world.first.settle(claim, all_wait(claim.group, TABLE))
    rows = await world.first.begin_pass(TWO)
    assert rows is not None
    assert [(row.player, row.avoided) for row in rows] == [
        ("ada", TABLE),
        ("bo", TABLE),
        ("cem", ""),
    ]


async def test_a_dead_replicas_group_is_taken_up_by_another(world: World) -> None:
    await world.enqueue("ada", "bo")
    claim = await world.claimed("ada", "bo")
    assert await world.second.reclaim() is None
    world.clock.advance_ms(LEASE_MS)
    taken = await world.second.reclaim()
    assert taken is not None
    assert (taken.group, taken.attempt, taken.verdict) == (claim.group, 2, ())
    assert taken.quiet_ms == claim.lease_ends_ms + CALL_MS + SKEW_MS
    assert await world.first.reclaim() is None
    # The one that was thought dead ends nothing any more.
    outcomes = verdict(claim, [TicketState.SEATED, TicketState.SEATED])
    assert await world.first.settle(claim, outcomes) is None
    assert not await world.first.note_verdict(claim, TABLE, outcomes)
    assert not await world.first.note_tables(claim, [("ada", TABLE, 0)])
    assert await world.states("ada", "bo") == [TicketState.SEATING] * 2
    assert await world.second.settle(taken, outcomes) is not None
    assert await world.states("ada", "bo") == [TicketState.SEATED] * 2


async def test_who_takes_a_group_up_hears_which_clients_are_gone(world: World) -> None:
    await world.enqueue("ada", "bo")
    await world.claimed("ada", "bo")
    world.clock.advance_ms(SILENCE_LIMIT_MS + 1)
    await world.tickets.touch("ada")
    taken = await world.second.reclaim()
    assert taken is not None
    assert taken.silent == {"bo"}


async def test_a_lease_is_renewed_for_one_turn(world: World) -> None:
    await world.enqueue("ada", "bo")
    claim = await world.claimed("ada", "bo")
    leases = world.first.leases
    with leases.held(claim):
        for _ in range(TURN_MS // RENEW_MS - 1):
            world.clock.advance_ms(RENEW_MS)
            await leases.renew()
            assert leases.stands(claim)
            assert await world.second.reclaim() is None
        world.clock.advance_ms(LEASE_MS - SKEW_MS + 1)
        await leases.renew()
        assert not leases.stands(claim)
        world.clock.advance_ms(SKEW_MS)
        assert await world.second.reclaim() is not None


async def test_a_group_that_another_has_taken_up_is_not_renewed(world: World) -> None:
    await world.enqueue("ada", "bo")
    claim = await world.claimed("ada", "bo")
    with world.first.leases.held(claim):
        world.clock.advance_ms(LEASE_MS)
        assert await world.second.reclaim() is not None
        await world.first.leases.renew()
        assert not world.first.leases.stands(claim)
        world.clock.advance_ms(LEASE_MS)
        assert await world.second.reclaim() is not None


async def test_a_noted_verdict_outlives_its_replica(world: World) -> None:
    await world.enqueue("ada", "bo")
    claim = await world.claimed("ada", "bo")
    outcomes = verdict(claim, [TicketState.WAITING, TicketState.DROPPED], "ACCOUNT_FROZEN")
    assert await world.first.note_verdict(claim, TABLE, outcomes)
    world.clock.advance_ms(LEASE_MS)
    taken = await world.second.reclaim()
    assert taken is not None
    assert taken.verdict == outcomes
    assert taken.group.table_id == TABLE


async def test_a_seat_is_shown_while_it_is_not_yet_decided(world: World) -> None:
    await world.enqueue("ada", "bo")
    claim = await world.claimed("ada", "bo")
    assert await world.first.note_tables(claim, [("bo", TABLE, 1)])
    bo = await world.tickets.look("bo")
    assert (bo.state, bo.table_id, bo.seat) == (TicketState.SEATING, TABLE, 1)
    await world.first.settle(claim, all_wait(claim.group))
    assert (await world.tickets.look("bo")).table_id == ""


async def test_a_partner_who_drops_out_leaves_the_other_waiting_for_one(world: World) -> None:
    """Another player's refusal punishes nobody: the one who stays keeps place and code."""
    for wish in (
        Wish("ada", "", "ticket-of-ada", ESLI, party_code="c0de", opens_party=True),
        Wish("bo", "", "ticket-of-bo", ESLI, party_code="c0de"),
    ):
        await world.tickets.enqueue(wish)
    await world.enqueue("cem", "deniz", terms=ESLI)
    group = await world.planned("ada", "cem", "bo", "deniz", terms=ESLI)
    (claim,) = await world.first.claim([group])
    states = [TicketState.DROPPED, TicketState.WAITING, TicketState.WAITING, TicketState.WAITING]
    await world.first.settle(claim, verdict(claim, states, "INSUFFICIENT_FUNDS"))
    bo = await world.tickets.look("bo")
    assert (bo.state, bo.party_code) == (TicketState.AWAITING_PARTNER, "c0de")
    rows = await world.first.begin_pass(ESLI)
    assert rows is not None
    assert [row.player for row in rows] == ["cem", "deniz"]


async def test_a_party_that_is_put_back_is_still_one(world: World) -> None:
    for wish in (
        Wish("ada", "", "ticket-of-ada", ESLI, party_code="c0de", opens_party=True),
        Wish("bo", "", "ticket-of-bo", ESLI, party_code="c0de"),
    ):
        await world.tickets.enqueue(wish)
    group = await world.planned("ada", "bo", terms=ESLI)
    (claim,) = await world.first.claim([group])
    await world.first.settle(claim, all_wait(claim.group))
    rows = await world.first.begin_pass(ESLI)
    assert rows is not None
    assert [(row.player, row.partner) for row in rows] == [("ada", "bo"), ("bo", "ada")]


async def test_putting_back_does_not_keep_a_silent_ticket_alive(world: World) -> None:
    await world.enqueue("ada", "bo")
    claim = await world.claimed("ada", "bo")
    world.clock.advance_ms(SILENCE_LIMIT_MS + 1)
    await world.first.settle(claim, all_wait(claim.group))
    assert await world.first.begin_pass(TWO) == []
    assert await world.states("ada", "bo") == [TicketState.EXPIRED] * 2


async def test_an_old_claim_does_not_touch_a_new_ticket(world: World) -> None:
    await world.enqueue("ada", "bo")
    claim = await world.claimed("ada", "bo")
    await world.first.settle(claim, verdict(claim, [TicketState.DROPPED] * 2, "ACCOUNT_FROZEN"))
    await world.tickets.enqueue(Wish("ada", "Ada", "anew", TWO))
    await world.first.settle(claim, verdict(claim, [TicketState.SEATED] * 2))
    ada = await world.tickets.look("ada")
    assert (ada.ticket_id, ada.state) == ("anew", TicketState.WAITING)


async def test_a_group_whose_tickets_are_forgotten_ends_all_the_same(world: World) -> None:
    await world.enqueue("ada", "bo")
    claim = await world.claimed("ada", "bo")
    for player in ("ada", "bo"):
        await world.redis.delete(f"okey:{{quick-match}}:ticket:{player}")
    assert await world.first.settle(claim, all_wait(claim.group)) == []
    assert await world.tickets.list_live(0, 9) == []
    assert await world.first.reclaim() is None
