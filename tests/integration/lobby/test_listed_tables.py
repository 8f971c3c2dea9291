"""Which tables players find: the list, and private ones, which stand in none."""

import asyncio
from typing import Any

import grpc

from okey.api.engine.v1 import table_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey_runtime.errors import RpcFailure, from_rpc_error
from tests.integration.engine.platform import refused, until
from tests.integration.lobby.table_world import TWO, TableWorld, outcomes, reasons, seated, world

CODE = grpc.StatusCode
FOUR = lobby_pb2.TableTerms(seat_count=4, stake=100)
WAITING = table_pb2.PHASE_WAITING


__all__ = ["world"]


# The list


async def test_the_list_is_the_engines_truth_also_over_an_outage_of_redis(
    world: TableWorld,
) -> None:
    """Away: UNAVAILABLE, and tables are made, joined and left all the same; then it is right."""
    gone = await world.create("ada")
    stays = await world.create("bo", terms=FOUR)
    await world.listed(gone.table_id, stays.table_id)
    world.valkey.kill()
    stub = await world.player("looker")
    failure = await until_away(stub)
    assert (failure.code, failure.reason) == (CODE.UNAVAILABLE, "TABLE_LIST_UNAVAILABLE")
    await world.leave("ada", gone.table_id)
    new = await world.create("cem")
    await world.join("ada", stays.table_id)
    world.valkey.start()
    for replica in range(2):
        tables = await world.listed(stays.table_id, new.table_id, replica=replica)
        taken = {table.table_id: len(table.taken_seats) for table in tables}
        assert taken == {stays.table_id: 2, new.table_id: 1}


async def until_away(stub: Any) -> RpcFailure:
    """A replica remembers the list for a fifth of a second."""
    while True:
        try:
            await stub.ListTables(lobby_pb2.ListTablesRequest())
        except grpc.aio.AioRpcError as error:
            return from_rpc_error(error)


async def test_a_list_is_watched(world: TableWorld) -> None:
    """All of it first, then what changes, at any replica; a listed table itself can be watched."""
    first = await world.create("ada", terms=FOUR)
    await world.listed(first.table_id)
    stub = await world.player("looker", replica=1)
    stream = stub.WatchTables(lobby_pb2.WatchTablesRequest())
    told = aiter(stream)
    async with asyncio.timeout(10):
        step = await anext(told)
        assert [table.table_id for table in step.changed] == list(step.table_ids)
        assert list(step.table_ids) == [first.table_id]
        second = await world.create("bo")
        step = await anext(told)
        assert list(step.table_ids) == [second.table_id, first.table_id], "the newest first"
        assert [table.table_id for table in step.changed] == [second.table_id]
        await world.leave("ada", first.table_id)
        step = await anext(told)
        assert list(step.gone_table_ids) == [first.table_id]
    stream.cancel()
    view = await until(world.platform, second.table_id, "looker", lambda v: v.phase == WAITING)
    assert view.seats[0].player == "bo"


async def test_a_page_may_not_be_too_long(world: TableWorld) -> None:
    stub = await world.player("ada")
    failure = await refused(stub.ListTables(lobby_pb2.ListTablesRequest(page_size=201)))
    assert (failure.code, failure.reason) == (CODE.INVALID_ARGUMENT, "INVALID_FIELD")


# Private tables


async def test_friends_get_their_own_table(world: TableWorld) -> None:
    """It is in no list, for nobody; who has the code gets in, and says it however it is written."""
    made = await world.create("ada", terms=FOUR, is_private=True)
    public = await world.create("bo", terms=FOUR)
    await world.listed(public.table_id)
    assert len(await world.engines()) == 2
    failure = await refused(world.join("cem", made.table_id))
    assert (failure.code, failure.reason) == (CODE.PERMISSION_DENIED, "INVITE_REQUIRED")
    failure = await refused(world.join("cem", made.table_id, invite="0000-0000-0000-0000"))
    assert (failure.code, failure.reason) == (CODE.PERMISSION_DENIED, "INVITE_WRONG")
    assert (await world.join("cem", made.table_id, invite=made.invite.lower())).seat == 1
    assert public.invite == ""


async def test_wrong_codes_are_limited_over_both_replicas(world: TableWorld) -> None:
    """The engine counts, so that it does not matter whom one asks; the delay is passed on."""
    made = await world.create("ada", is_private=True)
    wrong = {"invite": "0000-0000-0000-0000"}
    answers = await outcomes(
        *(world.join("eve", made.table_id, replica=n % 2, **wrong) for n in range(8))
    )
    assert reasons(answers) == ["INVITE_TRIES_EXHAUSTED"] * 3 + ["INVITE_WRONG"] * 5
    delays = [a.retry_after_ms for a in answers if a.reason == "INVITE_TRIES_EXHAUSTED"]
    assert all(delay and 0 < delay <= 60_000 for delay in delays)


async def test_quick_match_leads_back_to_a_private_table_and_fills_none(
    world: TableWorld,
) -> None:
    """W3: the lobby needs no code for that, and seats nobody beside the friends."""
    made = await world.create("ada", is_private=True)
    ada = await world.player("ada")
    back = (await ada.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=TWO))).ticket
    assert (back.state, back.table_id) == (lobby_pb2.TICKET_STATE_SEATED, made.table_id)
    for player in ("bo", "cem"):
        stub = await world.player(player)
        await stub.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=TWO))
    stream = (await world.player("bo")).WatchTicket(lobby_pb2.WatchTicketRequest())
    async with asyncio.timeout(20):
        tickets = [message.ticket async for message in stream]
    assert tickets[-1].state == lobby_pb2.TICKET_STATE_SEATED
    found = {table.table_id: sorted(seated(table)) for table in await world.engines()}
    assert found == {made.table_id: ["", "ada"], tickets[-1].table_id: ["bo", "cem"]}
