"""Rounds, racks, restarts and operators, as callers of the engine meet them."""

import asyncio
from pathlib import Path

import grpc
import pytest
import sqlalchemy
from sqlalchemy import func, select

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey.api.rating.v1 import rating_pb2
from okey.bots.evaluate import Goal, distance_to
from okey.rules.deal import commit
from okey.rules.distance import distance_to_cift
from okey.rules.tile import Tile
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.engine.app import EngineApp
from services.engine.schema import journal
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
from tests.integration.engine.service import CODE, eventually

_LATE_S = 0.3
"""How long an engine is not reached that has found its tables."""

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


async def test_names_are_told_by_id(world: Platform) -> None:
    """For lists of ids: of those that have a name, at once; whoever never sat has none."""
    await world.open_table("anna")
    await world.open_table("bert")
    stub = await world.tables_as("zoe")
    asked = engine_pb2.GetDisplayNamesRequest(player_ids=["bert", "nobody", "anna"])
    assert await stub.GetDisplayNames(asked) == engine_pb2.GetDisplayNamesResponse(
        display_names={"anna": "Anna", "bert": "Bert"}
    )
    twice = engine_pb2.GetDisplayNamesRequest(player_ids=["anna", "anna"])
    assert (await refused(stub.GetDisplayNames(twice))).reason == "INVALID_FIELD"


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


async def test_no_clock_goes_on_before_players_reach_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U4: an engine that was killed finds its own tables, and is not served from for a while."""
    quick = {"engine_name": "one", "lease_ms": 1_000, "renew_ms": 250}
    rows = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'engine.db'}")
    written: list[int] = []

    async def nothing() -> None:
        """Nobody is told; the lease ends by itself."""

    async def late() -> None:
        await asyncio.sleep(_LATE_S)
        with rows.connect() as connection:
            written.extend(connection.scalars(select(func.max(journal.c.seq))))
        await start()

    async with platform(tmp_path, engines=0) as world:
        async with ServiceServer(EngineApp(world.engine_settings(**quick))) as killed:
            world.engine_address = killed.address
            table_id, mover, _ = await playing(world)
            seq = (await view_of(world, table_id, mover)).seq
            monkeypatch.setattr(killed.app, "drain", nothing)
        again = ServiceServer(EngineApp(world.engine_settings(**quick)))
        start = again.grpc.start
        monkeypatch.setattr(again.grpc, "start", late)
        async with again:
            world.engine_address = again.address
            await until(world, table_id, mover, lambda view: view.seq > seq)
    assert written == [seq]
    rows.dispose()
