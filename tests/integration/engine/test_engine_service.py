"""TableService as callers meet it: shape, identity, roles, seats, streams."""

import asyncio

import grpc
import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey_runtime.identity import Role
from tests.integration.engine.platform import (
    Phase,
    Platform,
    act,
    playing,
    refused,
    view_of,
)
from tests.integration.engine.service import CODE, HELD, eventually

# Shape, identity, roles ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stake", 49),
        ("stake", 250_001),
        ("turn_timeout_ms", 14_999),
        ("turn_timeout_ms", 120_001),
        ("seat_count", 3),
        ("start_points", 7),
    ],
)
async def test_shape_rules_name_field_and_value(world: Platform, field: str, value: int) -> None:
    """Ç1, U4, K1: the protos refuse what no table can be, and say what it was."""
    failure = await refused(world.open_table("anna", **{field: value}))
    assert failure.code is CODE.INVALID_ARGUMENT
    assert failure.reason == "INVALID_FIELD"
    assert field in failure.message
    assert str(value) in failure.message


async def test_a_contradictory_table_is_refused_by_the_rules(world: Platform) -> None:
    """K1: Klasik has no solo; the table says so, not the shape."""
    terms = {"variant": common_pb2.VARIANT_KLASIK, "mode": common_pb2.MODE_SOLO}
    failure = await refused(world.open_table("anna", start_points=20, **terms))
    assert (failure.code, failure.reason) == (CODE.INVALID_ARGUMENT, "INVALID_TABLE_CONFIG")


async def test_only_the_lobby_seats_players(world: Platform) -> None:
    player = await world.tables_as("anna")
    request = engine_pb2.OpenTableRequest(
        request_id="request-x", player="anna", seat_count=2, stake=50, turn_timeout_ms=60_000
    )
    failure = await refused(player.OpenTable(request))
    assert (failure.code, failure.reason) == (CODE.PERMISSION_DENIED, "ROLE_REFUSED")


async def test_without_a_token_nothing_is_answered(world: Platform) -> None:
    async with grpc.aio.insecure_channel(world.engine_address) as channel:
        stub = engine_pb2_grpc.TableServiceStub(channel)
        failure = await refused(stub.WhereAmI(engine_pb2.WhereAmIRequest()))
    assert failure.code is CODE.UNAUTHENTICATED


async def test_nobody_moves_anothers_seat(world: Platform) -> None:
    """The subject owns the seat: the other player's and a stranger's move are refused."""
    table_id, mover, waiting = await playing(world)
    view = await view_of(world, table_id, mover)
    stranger, other = await world.tables_as("zoe"), await world.tables_as(waiting)
    assert (await refused(stranger.Act(act(world, view)))).reason == "NOT_SEATED"
    assert (await refused(other.Act(act(world, view)))).reason == "NOT_YOUR_TURN"
    leave = engine_pb2.LeaveSeatRequest(
        table_id=table_id, request_id=world.request_id(), player=mover
    )
    assert (await refused(other.LeaveSeat(leave))).reason == "PLAYER_NOT_CALLER"


async def test_a_seat_is_a_players_and_not_anybodys_of_the_same_name(world: Platform) -> None:
    """Without the role player, a token of a player's id is a spectator's and leaves no seat."""
    table_id, mover, _ = await playing(world)
    for role in (Role.OPERATOR, Role.INTEGRATOR, Role.LOBBY):
        namesake = await world.tables_as(mover, role)
        shown = await namesake.GetTable(engine_pb2.GetTableRequest(table_id=table_id))
        assert (shown.view.viewer, list(shown.view.round.rack)) == (-1, [])
        watch = engine_pb2.WatchTableRequest(table_id=table_id)
        async for message in namesake.WatchTable(watch):
            assert (message.snapshot.viewer, list(message.snapshot.round.rack)) == (-1, [])
            break
    assert len((await view_of(world, table_id, mover)).round.rack) >= 14
    waiting = await world.open_table("zoe")
    leave = engine_pb2.LeaveSeatRequest(table_id=waiting, request_id=world.request_id())
    namesake = await world.tables_as("zoe", Role.LOBBY)
    assert (await refused(namesake.LeaveSeat(leave))).reason == "PLAYER_NOT_CALLER"
    assert (await (await world.tables_as("zoe")).LeaveSeat(leave)).seq


async def test_a_move_for_another_turn_is_refused_as_such(world: Platform) -> None:
    """U12: a queued move for an old turn is never applied to a later one."""
    table_id, mover, _ = await playing(world)
    stub, view = await world.tables_as(mover), await view_of(world, table_id, mover)
    await stub.Act(act(world, view))
    failure = await refused(stub.Act(act(world, view)))
    assert (failure.code, failure.reason) == (CODE.FAILED_PRECONDITION, "TURN_OVER")


async def test_a_false_finish_costs_nothing_and_nobody_learns_of_it(world: Platform) -> None:
    """H8: refused to its sender, no event, the turn goes on."""
    table_id, mover, _ = await playing(world)
    stub, view = await world.tables_as(mover), await view_of(world, table_id, mover)
    request = act(world, view)
    request.action.finish.tile = view.round.rack[0]
    failure = await refused(stub.Act(request))
    assert failure.reason == "FINISH_REJECTED"
    after = await view_of(world, table_id, mover)
    assert after.seq == view.seq
    assert after.round.rack == view.round.rack


# Sitting -----------------------------------------------------------------------------------------


async def test_opening_again_with_the_same_request_makes_no_twin(world: Platform) -> None:
    """A create that timed out is repeated: one table, one stake."""
    lobby = await world.tables_as("lobby", Role.LOBBY)
    request = engine_pb2.OpenTableRequest(
        request_id="the-same-request",
        player="anna",
        seat_count=2,
        stake=100,
        turn_timeout_ms=60_000,
    )
    first, second = await asyncio.gather(lobby.OpenTable(request), lobby.OpenTable(request))
    assert first == second
    assert first.hold_status == HELD
    assert await world.balance("player:anna") == 9_900
    request.stake = 200
    assert (await refused(lobby.OpenTable(request))).reason == "REQUEST_ID_REUSED"


async def test_who_cannot_pay_gets_the_wallets_reason(world: Platform) -> None:
    """M1, M3: INSUFFICIENT_FUNDS is the caller's error, the seat is free again."""
    table_id = await world.open_table("anna", stake=9_000)
    await world.open_table("bert", stake=9_000)
    stub = await world.tables_as("bert")
    assert (await stub.WhereAmI(engine_pb2.WhereAmIRequest())).seat == 0
    failure = await refused(world.open_table("carl", stake=10_001))
    assert (failure.code, failure.reason) == (CODE.FAILED_PRECONDITION, "INSUFFICIENT_FUNDS")
    view = await view_of(world, table_id, "zoe")
    assert view.seats[1].player == ""
    assert await world.balance("player:anna") == 1_000


async def test_a_player_sits_once_and_is_told_where(world: Platform) -> None:
    """W3: another table refuses and names the first; WhereAmI leads back."""
    table_id = await world.open_table("anna")
    failure = await refused(world.open_table("anna"))
    assert failure.reason == "ALREADY_SEATED"
    assert failure.metadata == {"table_id": table_id}
    stub = await world.tables_as("anna")
    where = await stub.WhereAmI(engine_pb2.WhereAmIRequest())
    assert (where.table_id, where.seat, where.address) == (table_id, 0, world.engine_address)
    nowhere = await (await world.tables_as("zoe")).WhereAmI(engine_pb2.WhereAmIRequest())
    assert (nowhere.table_id, nowhere.seat) == ("", -1)


async def test_leaving_before_the_match_is_free(world: Platform) -> None:
    """W2, M1: the stake comes back whole, the table closes with its last player."""
    table_id = await world.open_table("anna")
    stub = await world.tables_as("anna")
    request = engine_pb2.LeaveSeatRequest(table_id=table_id, request_id=world.request_id())
    await stub.LeaveSeat(request)
    assert (await view_of(world, table_id, "anna")).phase == Phase.PHASE_CLOSED
    assert (await stub.WhereAmI(engine_pb2.WhereAmIRequest())).table_id == ""
    await eventually(lambda: world.balance("player:anna"), 10_000)
    again = await stub.LeaveSeat(request)
    assert again.seq > 0


async def test_a_nonce_counts_once(world: Platform) -> None:
    """T9: 32 bytes, never replaced, shown to no one before the deal."""
    table_id = await world.open_table("anna")
    stub = await world.tables_as("anna")

    def nonce(content: bytes) -> engine_pb2.AddNonceRequest:
        request_id = world.request_id()
        return engine_pb2.AddNonceRequest(table_id=table_id, request_id=request_id, nonce=content)

    assert (await refused(stub.AddNonce(nonce(b"short")))).reason == "INVALID_FIELD"
    await stub.AddNonce(nonce(b"\x01" * 32))
    assert (await refused(stub.AddNonce(nonce(b"\x02" * 32)))).reason == "NONCE_ALREADY_ADDED"
    assert (await view_of(world, table_id, "zoe")).seats[0].has_nonce


# Streams ------------------------------------------------------------------------------------------


async def test_the_engine_that_has_a_table_can_be_found(world: Platform) -> None:
    table_id = await world.open_table("anna")
    stub = await world.tables_as("zoe")
    found = await stub.LocateTable(engine_pb2.LocateTableRequest(table_id=table_id))
    assert (found.address, found.engine) == (world.engine_address, "engine")
    missing = stub.LocateTable(engine_pb2.LocateTableRequest(table_id="z" * 26))
    assert (await refused(missing)).reason == "TABLE_NOT_FOUND"


async def test_a_stream_ends_with_a_reason_when_the_engine_stops(world: Platform) -> None:
    table_id = await world.open_table("anna")
    stub = await world.tables_as("zoe")
    stream = stub.WatchTable(engine_pb2.WatchTableRequest(table_id=table_id))
    first = await stream.read()
    assert isinstance(first, engine_pb2.WatchTableResponse)
    assert first.WhichOneof("message") == "snapshot"
    operator = await world.operator()
    assert (await operator.Drain(engine_pb2.DrainRequest())).tables == 1
    answer = first
    while answer.WhichOneof("message") != "end":
        read = await stream.read()
        assert isinstance(read, engine_pb2.WatchTableResponse)
        answer = read
    assert answer.end.reason == engine_pb2.STREAM_END_REASON_SHUTTING_DOWN
    failure = await refused(stub.GetTable(engine_pb2.GetTableRequest(table_id=table_id)))
    assert (failure.code, failure.reason) == (CODE.UNAVAILABLE, "ENGINE_STOPPING")
