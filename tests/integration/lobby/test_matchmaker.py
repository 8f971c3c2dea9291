"""Quick match pass by pass: who is matched with whom, and at which table."""

import asyncio
from collections.abc import Sequence

import pytest

from services.lobby.group import Claim, Group, Member
from services.lobby.ticket import QuickMatchUnavailable
from tests.fixtures.match_tables import MemoryTable
from tests.fixtures.valkey import Valkey
from tests.integration.lobby.match_world import (
    ESLI,
    FOUR,
    OPEN,
    SEATED,
    TWO,
    WAITING,
    World,
    world,
)

__all__ = ["world"]


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


async def test_an_engine_that_is_away_is_asked_for_one_table_a_pass(world: World) -> None:
    """Each look may take its full deadline, and the other buckets wait for this one."""
    for number in range(5):
        world.tables.tables[f"{number:026}"] = MemoryTable(TWO, 0, {1: f"host{number}"})
    world.tables.is_away = True
    await world.enqueue("ada")
    await world.match()
    assert world.tables.looked_at == 1
    world.tables.is_away = False
    await world.match()
    assert await world.states("ada") == [SEATED]
