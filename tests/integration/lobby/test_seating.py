"""A group that quick match has claimed: everybody sits and has paid, or nobody does (M2)."""

import asyncio
from dataclasses import replace

import pytest

from services.lobby.engine_calls import CALL_MS
from services.lobby.group import Group, Member
from services.lobby.leases import LEASE_MS, SKEW_MS, TURN_MS
from services.lobby.match_tables import NoRoom, SeatAnswer, Sits, Unknown
from services.lobby.seating import LEFT_TABLE, PAUSE_MS
from services.lobby.ticket import TicketState
from tests.fixtures.match_tables import CHIPS, MemoryTables
from tests.integration.lobby.match_world import (
    DROPPED,
    FOUR,
    OPEN,
    SEATED,
    SEATING,
    TWO,
    WAITING,
    World,
    world,
)

__all__ = ["world"]


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
    world.die(0)
    await world.wait(CALL_MS)
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
    await world.wait(TURN_MS)
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
        world.die(0)
        await world.wait(CALL_MS)
        await world.replicas[0].seated()
        await world.match(1)
        await world.go_on(LEASE_MS + SKEW_MS, 1)
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
    await world.wait(LEASE_MS - SKEW_MS + 1)
    assert await world.seatings[0].seat(claim) is None
    assert world.tables.where("ada") is None
    late = replace(claim, lease_ends_ms=claim.lease_ends_ms + 60_000)
    await world.wait(SKEW_MS)
    assert await world.groups[1].reclaim() is not None
    assert await world.seatings[0].seat(late) is None


async def test_a_group_whose_maker_dies_is_taken_up_within_seconds(world: World) -> None:
    """Until then whoever sits is shown the table; then the others sit down there too."""
    is_dying = asyncio.Event()

    async def over_which_it_dies(*_: object) -> SeatAnswer:
        is_dying.set()
        await asyncio.Event().wait()
        raise AssertionError

    world.tables.__dict__["take"] = over_which_it_dies
    await world.enqueue("ada", "bo")
    await world.replicas[0].run_once()
    await is_dying.wait()
    ada = await world.ticket("ada")
    assert (ada.state, ada.table_id) == (SEATING, world.tables.where("ada"))
    assert (await world.ticket("bo")).table_id == ""
    world.die(0)
    del world.tables.__dict__["take"]
    await world.wait(3_000)
    await world.match(1)
    assert await world.states("ada", "bo") == [SEATED, SEATED]
    assert world.sitting() == [["ada", "bo"]]


async def test_a_slow_maker_that_lives_keeps_its_group(world: World) -> None:
    world.tables.slow = {"bo"}
    await world.enqueue("ada", "bo")
    await world.match()
    for _ in range(TURN_MS // LEASE_MS - 1):
        await world.go_on(LEASE_MS)
        assert await world.groups[1].reclaim() is None
    world.tables.pay("bo")
    await world.go_on(PAUSE_MS)
    assert await world.states("ada", "bo") == [SEATED, SEATED]


async def test_a_turn_ends_so_that_the_next_one_sees_who_is_there(world: World) -> None:
    """The wallet says nothing, and a client has gone: the group does not wait for ever."""
    world.tables.slow = {"bo"}
    await world.enqueue("ada", "bo")
    await world.match()
    world._players.remove("bo")
    for _ in range((TURN_MS + LEASE_MS) // PAUSE_MS + 1):
        await world.go_on(PAUSE_MS)
    taken = await world.groups[1].reclaim()
    assert taken is not None
    assert taken.silent == {"bo"}


async def test_nobody_is_sent_back_while_a_dead_makers_call_may_still_seat_somebody(
    world: World,
) -> None:
    """What it has sent arrives late: the seat is found and given back, never left behind."""
    world.put(host=1)
    await world.enqueue("ada")
    ticket_id = (await world.ticket("ada")).ticket_id
    group = Group("late", TWO, (Member("ada", ticket_id, "Ada", 0),), OPEN)
    await world.groups[0].claim([group])
    world.tables.chips["ada"] = 0
    await world.wait(LEASE_MS)
    await world.match(1)
    assert await world.states("ada") == [SEATING]
    world.tables.chips["ada"] = CHIPS
    await world.tables.take(OPEN, "quick-late", "ada", "Ada", 0)
    await world.go_on(CALL_MS + SKEW_MS, 1)
    assert await world.states("ada") == [SEATED]
    assert world.sitting() == [["ada", "host"]]
