"""A table's life through the lobby, with a real engine, wallet and Valkey, at two replicas.

The failures that others had with matchmaking and tables are named as tests here.
"""

import asyncio
from pathlib import Path
from typing import Any

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey.api.rating.v1 import rating_pb2
from okey_runtime.errors import RpcFailure
from okey_runtime.identity import Role
from tests.fixtures.valkey import Valkey
from tests.integration.engine.platform import Phase, Player, refused, until
from tests.integration.lobby.table_world import (
    TWO,
    WELCOME,
    TableWorld,
    outcomes,
    reasons,
    seated,
    table_world,
    world,
)

CODE = grpc.StatusCode
FOUR = lobby_pb2.TableTerms(seat_count=4, stake=100)


__all__ = ["world"]


# Joining and leaving


async def test_a_seat_is_chosen_or_any(world: TableWorld) -> None:
    """O2: the chosen seat decides who partners whom."""
    esli = lobby_pb2.TableTerms(seat_count=4, stake=100, mode=common_pb2.MODE_ESLI)
    made = await world.create("ada", terms=esli)
    assert made.seat == 0
    assert (await world.join("bo", made.table_id, seat=2, replica=1)).seat == 2
    assert (await world.join("cem", made.table_id)).seat == 1
    failure = await refused(world.join("deniz", made.table_id, seat=2))
    assert (failure.code, failure.reason) == (CODE.FAILED_PRECONDITION, "SEAT_TAKEN")
    [table] = await world.engines()
    assert seated(table) == ["ada", "cem", "bo", ""]


async def test_who_wants_the_last_seat_too_late_finds_the_table_full(world: TableWorld) -> None:
    """Chosen or any: another seat is none to look for there."""
    made = await world.create("ada", terms=lobby_pb2.TableTerms(seat_count=2, stake=100))
    players = [f"player-{number}" for number in range(4)]
    answers = await outcomes(
        *(
            world.join(player, made.table_id, seat=at % 2 or None, replica=at % 2)
            for at, player in enumerate(players)
        )
    )
    assert [a.seat for a in answers if isinstance(a, lobby_pb2.JoinTableResponse)] == [1]
    assert reasons(answers) == ["NO_FREE_SEAT"] * 3


async def test_two_who_want_one_seat_get_one_and_a_refusal(world: TableWorld) -> None:
    """Whichever replicas they call."""
    made = await world.create("ada", terms=FOUR)
    players = [f"player-{number}" for number in range(6)]
    answers = await outcomes(
        *(
            world.join(player, made.table_id, seat=3, replica=at % 2)
            for at, player in enumerate(players)
        )
    )
    assert [a.seat for a in answers if isinstance(a, lobby_pb2.JoinTableResponse)] == [3]
    assert reasons(answers) == ["SEAT_TAKEN"] * 5
    for player in players:
        held = WELCOME - await world.chips(player)
        assert held == (100 if await world.platform.where_is(player) else 0)


async def test_one_client_does_not_hold_many_seats(world: TableWorld) -> None:
    """W3: of many joins at once one counts, and it is charged once."""
    tables = [await world.create(f"host-{number}") for number in range(4)]
    answers = await outcomes(
        *(
            world.join("ada", made.table_id, replica=at % 2)
            for at, made in enumerate(tables)
            for _ in range(2)
        )
    )
    assert sum(isinstance(answer, lobby_pb2.JoinTableResponse) for answer in answers) == 1
    assert set(reasons(answers)) == {"ALREADY_SEATED"}
    found = [table for table in await world.engines() if "ada" in seated(table)]
    assert len(found) == 1
    assert await world.chips("ada") == WELCOME - 100


async def test_leaving_gives_the_stake_back_and_an_empty_table_closes(world: TableWorld) -> None:
    """W2, M1, Ç10: no ghost table is left in the list."""
    made = await world.create("ada", terms=FOUR)
    await world.join("bo", made.table_id)
    await world.listed(made.table_id)
    await world.leave("ada", made.table_id, replica=1)
    [table] = await world.listed(made.table_id, replica=1)
    assert [seat.seat for seat in table.taken_seats] == [1]
    await world.leave("bo", made.table_id)
    await world.listed()
    assert await world.engines() == []
    for player in ("ada", "bo"):
        await world.until_chips(player, WELCOME)


async def test_another_players_refusal_punishes_nobody(world: TableWorld) -> None:
    """M2: who cannot pay is refused, with the reason; the others keep seat and stake."""
    costly = lobby_pb2.TableTerms(seat_count=4, stake=6_000)
    made = await world.create("ada", terms=costly)
    await world.join("bo", made.table_id)
    poor = await world.create("cem", terms=costly)
    await world.leave("cem", poor.table_id)
    too_costly = lobby_pb2.TableTerms(seat_count=2, stake=10_001)
    failure = await refused(world.create("deniz", terms=too_costly))
    assert (failure.code, failure.reason) == (CODE.FAILED_PRECONDITION, "INSUFFICIENT_FUNDS")
    assert await world.platform.where_is("deniz") == ""
    [table] = await world.listed(made.table_id)
    assert [seat.display_name for seat in table.taken_seats] == ["Ada", "Bo"]


# Closing


async def test_a_join_during_disposal_leaves_no_zombie(world: TableWorld) -> None:
    """Ç10: the last one leaves while others come: the table goes on with them, or is over."""
    for turn in range(6):
        host, guests = f"host-{turn}", [f"guest-{turn}-{n}" for n in range(2)]
        made = await world.create(host, terms=FOUR)
        answers = await outcomes(
            world.leave(host, made.table_id),
            *(world.join(guest, made.table_id, replica=n) for n, guest in enumerate(guests)),
        )
        assert answers[0] is None
        assert set(reasons(answers)) <= {"TABLE_CLOSED"}
        joined = [
            guest
            for guest, answer in zip(guests, answers[1:], strict=True)
            if isinstance(answer, lobby_pb2.JoinTableResponse)
        ]
        found = {table.table_id: seated(table) for table in await world.engines()}
        sitting = [player for player in found.get(made.table_id, []) if player]
        assert sorted(sitting) == sorted(joined), "who was told a seat has it, nobody else"
        for guest in guests:
            where = await world.platform.where_is(guest)
            assert where == (made.table_id if guest in joined else "")
            await world.until_chips(guest, WELCOME - 100 if guest in joined else WELCOME)


async def test_an_idle_table_closes_with_refunds(valkey: Valkey, tmp_path: Path) -> None:
    """W1: thirty minutes without anybody coming or going; the list forgets it."""
    async with table_world(tmp_path, valkey, clock_factor=600) as world:
        made = await world.create("ada", terms=FOUR)
        await world.join("bo", made.table_id)
        await world.until_closed(made.table_id)
        await world.listed()
        for player in ("ada", "bo"):
            await world.until_chips(player, WELCOME)
        failure = await refused(world.join("cem", made.table_id))
        assert (failure.code, failure.reason) == (CODE.FAILED_PRECONDITION, "TABLE_CLOSED")


# Making


async def test_a_making_that_timed_out_has_no_twin(world: TableWorld) -> None:
    """The client heard nothing and asks both replicas again: one table, one stake."""
    wish: dict[str, Any] = {"request_id": "the-same-wish"}
    answers = await outcomes(*(world.create("ada", replica=n % 2, **wish) for n in range(6)))
    made = {answer.table_id for answer in answers}
    assert len(made) == 1
    assert [table.table_id for table in await world.engines()] == list(made)
    assert await world.chips("ada") == WELCOME - 100
    [table_id] = made
    await world.leave("ada", table_id)
    assert (await world.create("ada", **wish)).table_id == table_id, "a late repetition"
    assert await world.engines() == []
    await world.until_chips("ada", WELCOME)


async def test_a_making_that_timed_out_is_rated_once(world: TableWorld) -> None:
    """Asked six times at both replicas, and again after its maker gave up: one rating change."""
    wish: dict[str, Any] = {"request_id": "the-same-wish"}
    await outcomes(*(world.create("ada", replica=n % 2, **wish) for n in range(6)))
    [table] = await world.engines()
    await world.join("bo", table.table_id)
    await until(world.platform, table.table_id, "ada", lambda v: v.phase == Phase.PHASE_PLAYING)
    ada = await world.platform.tables_as("ada")
    await ada.Forfeit(
        engine_pb2.ForfeitRequest(table_id=table.table_id, request_id=world.request_id())
    )
    assert (await world.create("ada", **wish)).table_id == table.table_id
    assert await changes(world, "ada") == [-20_000]
    assert [each.table_id for each in await world.engines()] == [table.table_id]


async def changes(world: TableWorld, player: str) -> list[int]:
    """The player's rating changes in milli-points, once there is one."""
    rating = await world.platform.rating()
    request = rating_pb2.ListHistoryRequest(player_id=player, ladder=rating_pb2.LADDER_CANAK)
    async with asyncio.timeout(20):
        while not (history := await rating.ListHistory(request)).changes:
            pass
    return [change.delta_milli for change in history.changes]


async def test_two_wishes_at_once_make_one_table(world: TableWorld) -> None:
    """W3: a player with two windows; the other one is led to the table that is there."""
    answers = await outcomes(*(world.create("ada", replica=n % 2) for n in range(4)))
    made = [a for a in answers if isinstance(a, lobby_pb2.CreateTableResponse)]
    assert len(made) == 1
    refusals = [answer for answer in answers if isinstance(answer, RpcFailure)]
    assert {refusal.reason for refusal in refusals} == {"ALREADY_SEATED"}
    assert {refusal.metadata["table_id"] for refusal in refusals} == {made[0].table_id}
    assert len(await world.engines()) == 1


# Nachspiel


async def test_newcomers_fill_the_seats_of_a_nachspiel(valkey: Valkey, tmp_path: Path) -> None:
    """Ç8, Ç9: they see the kasa in the list and play for it with who stays."""
    async with table_world(tmp_path, valkey, clock_factor=10) as world:
        made = await world.create("ada")
        await world.join("bo", made.table_id)
        players = [Player(world.platform, name, made.table_id) for name in ("ada", "bo")]
        async with asyncio.timeout(60):
            await asyncio.gather(*(player.until_phase(Phase.PHASE_NACHSPIEL) for player in players))
        await world.leave("bo", made.table_id)
        stub = await world.player("cem", replica=1)
        wanted = lobby_pb2.ListTablesRequest(only_joinable=True, only_with_kasa=True)
        async with asyncio.timeout(10):
            while not (page := await stub.ListTables(wanted)).tables:
                pass
        [table] = page.tables
        assert (table.table_id, table.kasa, table.is_nachspiel) == (made.table_id, 20, True)
        assert (await world.join("cem", made.table_id)).seat == 1
        ada = await world.platform.tables_as("ada")
        await ada.PlayOn(
            engine_pb2.PlayOnRequest(table_id=made.table_id, request_id=world.request_id())
        )
        view = await until(
            world.platform, made.table_id, "cem", lambda v: v.phase == Phase.PHASE_PLAYING
        )
        assert (view.match_no, view.kasa) == (2, 40)


# Limits


async def test_making_and_leaving_for_ever_is_slowed_down(valkey: Valkey, tmp_path: Path) -> None:
    """One player cannot flood the list, at whichever replica; others do not notice."""
    settings = {"tables_at_once": 3, "table_every_ms": 60_000}
    async with table_world(tmp_path, valkey, **settings) as world:
        for turn in range(3):
            made = await world.create("ada", replica=turn % 2)
            await world.leave("ada", made.table_id)
        failure = await refused(world.create("ada"))
        assert (failure.code, failure.reason) == (CODE.RESOURCE_EXHAUSTED, "TABLES_TOO_OFTEN")
        assert failure.retry_after_ms is not None
        assert 0 < failure.retry_after_ms <= 60_000
        await world.create("bo")


async def test_joining_and_leaving_for_ever_keeps_no_table_from_starting(
    valkey: Valkey, tmp_path: Path
) -> None:
    """W2: a late leaver does not come back here before the deal, others do not wait for it."""
    settings = {"seats_at_once": 3, "seat_every_ms": 60_000}
    async with table_world(tmp_path, valkey, **settings) as world:
        made = await world.create("ada", terms=FOUR)
        for turn in range(3):
            await world.join("eve", made.table_id, replica=turn % 2)
            await world.leave("eve", made.table_id, replica=turn % 2)
        failure = await refused(world.join("eve", made.table_id))
        assert (failure.code, failure.reason) == (CODE.RESOURCE_EXHAUSTED, "SEATS_TOO_OFTEN")
        for player in ("bo", "cem", "deniz"):
            await world.join(player, made.table_id)
        await until(world.platform, made.table_id, "ada", lambda v: v.phase == Phase.PHASE_PLAYING)


async def test_who_leaves_during_the_count_down_is_replaced(world: TableWorld) -> None:
    """W2, U13: the count-down stops, the leaver is refused here until the deal, a third comes."""
    made = await world.create("ada")
    await world.join("eve", made.table_id)
    await world.leave("eve", made.table_id)
    failure = await refused(world.join("eve", made.table_id))
    assert failure.reason == "LEFT_BEFORE_START"
    await world.join("bo", made.table_id)
    await until(world.platform, made.table_id, "ada", lambda v: v.phase == Phase.PHASE_PLAYING)
    await world.create("eve")  # and sits elsewhere at once


async def test_a_player_of_a_running_match_is_led_back_to_it(world: TableWorld) -> None:
    """W3: whatever new table it asks for."""
    made = await world.create("ada")
    await world.join("bo", made.table_id)
    other = await world.create("cem")
    for call in (world.create("ada"), world.join("ada", other.table_id)):
        failure = await refused(call)
        assert failure.reason == "ALREADY_SEATED"
        assert failure.metadata["table_id"] == made.table_id
    failure = await refused(leave_when_playing(world, made.table_id))
    assert failure.reason == "MATCH_RUNNING"


async def leave_when_playing(world: TableWorld, table_id: str) -> None:
    await until(world.platform, table_id, "ada", lambda v: v.phase == Phase.PHASE_PLAYING)
    await world.leave("ada", table_id)


async def test_only_players_have_tables(world: TableWorld) -> None:
    request_id, table_id = world.request_id(), "t" * 26
    for role in set(Role) - {Role.PLAYER}:
        stub = await world.player("someone", role)
        for call in (
            stub.CreateTable(lobby_pb2.CreateTableRequest(request_id=request_id, terms=TWO)),
            stub.JoinTable(lobby_pb2.JoinTableRequest(table_id=table_id, request_id=request_id)),
            stub.LeaveTable(lobby_pb2.LeaveTableRequest(table_id=table_id, request_id=request_id)),
            stub.ListTables(lobby_pb2.ListTablesRequest()),
            anext(aiter(stub.WatchTables(lobby_pb2.WatchTablesRequest()))),
        ):
            assert (await refused(call)).reason == "ROLE_REFUSED"
