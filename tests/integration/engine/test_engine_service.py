"""TableService and OperatorService as callers meet them: roles, reasons, streams, restarts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import grpc
import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey.api.rating.v1 import rating_pb2
from okey.bots.evaluate import Goal, distance_to
from okey.rules.deal import commit
from okey.rules.distance import distance_to_cift
from okey.rules.tile import Tile
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from tests.integration.engine.platform import (
    Phase,
    Platform,
    Player,
    act,
    platform,
    playing,
    refused,
    until,
    view_of,
)

HELD = engine_pb2.HoldStatus.HOLD_STATUS_HELD
CODE = grpc.StatusCode


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Platform]:
    async with platform(tmp_path, clock_factor=20) as running:
        yield running


async def eventually(read: Callable[[], Awaitable[object]], expected: object) -> None:
    """Ask until the answer is as expected; the sinks are told after the fact."""
    async with asyncio.timeout(10):
        while await read() != expected:
            pass


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


# Rounds, racks, restarts --------------------------------------------------------------------------


async def test_a_finished_round_is_shown_in_full_and_a_running_one_to_nobody(
    world: Platform,
) -> None:
    """T9: FAILED_PRECONDITION for everyone until the end; then the seed fits the commitment."""
    table_id, mover, _ = await playing(world)
    ask = engine_pb2.ListEventsRequest(table_id=table_id, match_no=1, round_no=1)
    for stub in (await world.tables_as(mover), await world.tables_as("op", Role.OPERATOR)):
        assert (await refused(stub.ListEvents(ask))).reason == "ROUND_NOT_ENDED"
    operator = await world.operator()
    await operator.VoidMatch(
        engine_pb2.VoidMatchRequest(
            table_id=table_id, request_id=world.request_id(), reason="a test"
        )
    )
    shown = await (await world.tables_as("zoe")).ListEvents(ask)
    dealt = shown.rows[0].events[0].round_dealt
    ended = shown.rows[-1].events[-1].round_ended
    assert commit(ended.revealed) == shown.commitment
    assert sum(len(each.tiles) for each in dealt.racks) + len(dealt.stock) + 1 == 106
    missing = engine_pb2.ListEventsRequest(table_id=table_id, match_no=2, round_no=1)
    assert (
        await refused((await world.tables_as("zoe")).ListEvents(missing))
    ).code is CODE.NOT_FOUND


async def test_a_rack_is_arranged_for_its_owner_only(world: Platform) -> None:
    table_id, mover, _ = await playing(world)
    view = await view_of(world, table_id, mover)
    stub = await world.tables_as(mover)
    request = engine_pb2.ArrangeRackRequest(table_id=table_id)
    arranged = await stub.ArrangeRack(request)
    tiles = sorted(tile for meld in arranged.melds for tile in meld.tiles)
    assert tiles == sorted(view.round.rack)
    rack, okey = [Tile(tile) for tile in view.round.rack], Tile(view.round.okey)
    assert arranged.distance == distance_to(rack, okey, Goal.EITHER)
    assert (await refused(stub.ArrangeRack(request))).reason == "ARRANGE_TOO_OFTEN"
    assert (await refused((await world.tables_as("zoe")).ArrangeRack(request))).reason == "NO_ROUND"


async def test_a_rack_is_arranged_in_pairs_once_cift_is_announced(world: Platform) -> None:
    """H12: only seven pairs can finish then."""
    table_id, mover, _ = await playing(world)
    view = await view_of(world, table_id, mover)
    stub = await world.tables_as(mover)
    announcing = act(world, view)
    announcing.action.CopyFrom(table_pb2.Action(announce_cift=table_pb2.AnnounceCift()))
    await stub.Act(announcing)
    arranged = await stub.ArrangeRack(engine_pb2.ArrangeRackRequest(table_id=table_id))
    kinds = {meld.kind for meld in arranged.melds}
    assert kinds <= {common_pb2.MELD_KIND_PAIR, common_pb2.MELD_KIND_UNSPECIFIED}
    rack, okey = [Tile(tile) for tile in view.round.rack], Tile(view.round.okey)
    assert arranged.distance == distance_to_cift(rack, okey)


async def test_a_match_goes_on_after_the_engine_was_restarted(world: Platform) -> None:
    """A restart loses no acknowledged move, no chip, and no request's answer."""
    table_id, mover, _ = await playing(world)
    stub, view = await world.tables_as(mover), await view_of(world, table_id, mover)
    request = act(world, view)
    first = await stub.Act(request)
    await world.stop_engine()
    await world.start_engine()
    stub = await world.tables_as(mover)
    assert await stub.Act(request) == first
    after = await view_of(world, table_id, mover)
    assert after.seq == first.seq + 1
    players = [Player(world, name, table_id) for name in ("anna", "bert")]
    ends = (Phase.PHASE_NACHSPIEL, Phase.PHASE_CLOSED)
    await asyncio.gather(*(player.until_phase(*ends) for player in players))
    chips = [await world.balance(f"player:{name}") for name in ("anna", "bert")]
    kasa = await world.balance(f"kasa:{table_id}")
    assert sum(chips) + kasa == 20_000


async def test_a_forfeit_is_paid_for_and_rated(world: Platform) -> None:
    """M9, R5: half the stake and 20 points, at once; the AI plays on."""
    table_id, mover, waiting = await playing(world)
    stub = await world.tables_as(mover)
    view = await view_of(world, table_id, mover)
    assert view.forfeit_price == 50
    request = engine_pb2.ForfeitRequest(table_id=table_id, request_id=world.request_id())
    await stub.Forfeit(request)
    assert (await view_of(world, table_id, mover)).viewer == -1
    await until(
        world,
        table_id,
        waiting,
        lambda v: v.HasField("round") and v.seats[v.round.turn.seat].player == waiting,
    )
    await eventually(lambda: world.balance(f"player:{mover}"), 10_000 - 100 - 50)

    async def ratings() -> set[int]:
        rating = await world.rating()
        rated = await rating.GetRating(rating_pb2.GetRatingRequest(player_id=mover))
        return {each.rating_milli for each in rated.ratings}

    await eventually(ratings, {1_200_000, 1_180_000})


async def test_silence_brings_a_stand_in_and_the_player_comes_back(tmp_path: Path) -> None:
    """U5, U7, U8: neutral move, then an AI, then the player again."""
    async with platform(tmp_path, clock_factor=40) as world:
        table_id, absent, present = await playing(world)
        player = Player(world, present, table_id)
        at_work = asyncio.create_task(player.until_phase(Phase.PHASE_NACHSPIEL))
        stand_in = table_pb2.CONTROL_STAND_IN
        await until(world, table_id, absent, lambda v: any(s.control == stand_in for s in v.seats))
        stub = await world.tables_as(absent)
        back = engine_pb2.ReturnToSeatRequest(table_id=table_id, request_id=world.request_id())
        while not await came_back(stub, back):
            pass
        view = await view_of(world, table_id, absent)
        assert view.seats[view.viewer].control == table_pb2.CONTROL_PERSON
        at_work.cancel()
        await asyncio.gather(at_work, return_exceptions=True)


async def came_back(
    stub: engine_pb2_grpc.TableServiceStub, request: engine_pb2.ReturnToSeatRequest
) -> bool:
    """Ask once; False where the turn had just run out, so that the next one is to be asked for."""
    try:
        await stub.ReturnToSeat(request)
    except grpc.aio.AioRpcError as error:
        if from_rpc_error(error).reason != "TURN_EXPIRED":
            raise
        return False
    return True


async def test_display_names_cannot_steer_a_terminal(world: Platform) -> None:
    lobby = await world.tables_as("lobby", Role.LOBBY)
    hostile = "\x1b[31mred\n\u202eder"
    opened = await lobby.OpenTable(
        engine_pb2.OpenTableRequest(
            request_id=world.request_id(),
            player="anna",
            display_name=hostile,
            seat_count=2,
            stake=100,
            turn_timeout_ms=60_000,
        )
    )
    await lobby.TakeSeat(
        engine_pb2.TakeSeatRequest(
            table_id=opened.table_id,
            request_id=world.request_id(),
            player="bert",
            display_name=hostile,
        )
    )
    view = await view_of(world, opened.table_id, "anna")
    assert [seat.display_name for seat in view.seats] == ["[31mred der"] * 2


# Operators ----------------------------------------------------------------------------------------


async def test_operators_list_release_and_stop_new_matches(world: Platform) -> None:
    first = await world.open_table("anna")
    second = await world.open_table("bert", variant=common_pb2.VARIANT_KLASIK, start_points=3)
    operator = await world.operator()
    listed: list[str] = []
    token = ""
    while True:
        request = engine_pb2.ListTablesRequest(page_size=1, page_token=token)
        page = await operator.ListTables(request)
        listed += [table.table_id for table in page.tables]
        token = page.next_page_token
        if not token:
            break
    assert listed == sorted([first, second])
    everything = await operator.ListTables(engine_pb2.ListTablesRequest())
    seats = {table.table_id: table.seats[0] for table in everything.tables}
    assert seats[first].display_name == "Anna"
    released = await operator.ReleaseTable(engine_pb2.ReleaseTableRequest(table_id=first))
    assert released.seq >= 2
    move = engine_pb2.MoveTableRequest(table_id=first, engine="nowhere")
    assert (await refused(operator.MoveTable(move))).reason == "ENGINE_NOT_FOUND"
    maintenance = engine_pb2.SetMaintenanceRequest(is_on=True)
    assert (await operator.SetMaintenance(maintenance)).running_matches == 0
    assert (await refused(world.open_table("carl"))).reason == "MAINTENANCE"
    assert (await refused(world.take_seat(first, "carl"))).reason == "MAINTENANCE"
    await operator.SetMaintenance(engine_pb2.SetMaintenanceRequest(is_on=False))
    assert (await world.take_seat(first, "carl")).seat == 1


async def test_a_drained_engine_ends_its_streams_and_then_its_process(world: Platform) -> None:
    table_id = await world.open_table("anna")
    watching = (await world.tables_as("anna")).WatchTable(
        engine_pb2.WatchTableRequest(table_id=table_id)
    )
    await watching.read()
    drained = await (await world.operator()).Drain(engine_pb2.DrainRequest())
    assert drained.tables == 1
    reasons = [message.end.reason async for message in watching if message.HasField("end")]
    assert reasons == [engine_pb2.STREAM_END_REASON_SHUTTING_DOWN]
    assert (await refused(world.take_seat(table_id, "bert"))).reason == "ENGINE_STOPPING"
    assert world.engine is not None
    async with asyncio.timeout(5):
        await world.engine.wait()
