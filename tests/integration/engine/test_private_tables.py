"""Private tables over gRPC: who sits there and who knows the code, nobody else."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import grpc
import pytest

from okey.api.engine.v1 import engine_pb2
from okey.api.events.v1 import events_pb2, events_pb2_grpc
from okey_runtime.database import Database
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.identity import Role
from services.engine import schema
from services.engine.invites import WRONG_TRIES
from services.okeyctl import replay as replays
from services.okeyctl.reach import Reach
from services.okeyctl.tables import show_table, watch_table
from services.okeyctl.tables_verify import fetch_round
from tests.integration.engine.platform import Phase, Platform, Player, platform, refused, until

WRONG = "AAAA-AAAA-AAAA-AAAA"
WATCHERS = (Role.PLAYER, Role.LOBBY, Role.OPERATOR, Role.INTEGRATOR)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Platform]:
    async with platform(tmp_path) as running:
        yield running


def opening(request_id: str = "request-open") -> engine_pb2.OpenTableRequest:
    return engine_pb2.OpenTableRequest(
        request_id=request_id,
        player="anna",
        seat_count=2,
        stake=100,
        turn_timeout_ms=60_000,
        is_private=True,
    )


async def private(world: Platform) -> engine_pb2.OpenTableResponse:
    lobby = await world.tables_as("lobby", Role.LOBBY)
    return await lobby.OpenTable(opening())


async def sit(
    world: Platform, table_id: str, player: str, invite: str
) -> engine_pb2.TakeSeatResponse:
    lobby = await world.tables_as("lobby", Role.LOBBY)
    return await lobby.TakeSeat(
        engine_pb2.TakeSeatRequest(
            table_id=table_id, request_id=f"sit-{player}-1", player=player, invite=invite
        )
    )


async def tries(
    world: Platform, table_id: str, subject: str, role: Role, invite: str
) -> dict[str, str]:
    """By call, the reason of its refusal, or empty."""
    stub = await world.tables_as(subject, role)

    async def watch() -> None:
        request = engine_pb2.WatchTableRequest(table_id=table_id, invite=invite)
        async for _ in stub.WatchTable(request):
            return

    async def play() -> None:
        attach = engine_pb2.Attach(table_id=table_id, invite=invite)
        async for _ in stub.Play(iter([engine_pb2.PlayRequest(attach=attach)])):
            return

    get = engine_pb2.GetTableRequest(table_id=table_id, invite=invite)
    read = engine_pb2.ListEventsRequest(table_id=table_id, match_no=1, round_no=1, invite=invite)
    found = {
        "GetTable": await reason_of(stub.GetTable(get)),
        "WatchTable": await reason_of(watch()),
        "ListEvents": await reason_of(stub.ListEvents(read)),
    }
    if role is Role.PLAYER:
        found["Play"] = await reason_of(play())
    return found


async def reason_of(call: Awaitable[object]) -> str:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return from_rpc_error(error).reason
    return ""


def files_in(folder: Path) -> bytes:
    """Everything that the engine's database has written."""
    return b"".join(path.read_bytes() for path in folder.glob("engine.db*"))


@pytest.mark.parametrize("role", WATCHERS)
async def test_without_the_code_nobody_sees_the_table(world: Platform, role: Role) -> None:
    made = await private(world)
    found = await tries(world, made.table_id, "eve", role, "")
    assert set(found.values()) == {"INVITE_REQUIRED"}, found
    found = await tries(world, made.table_id, "eve", role, WRONG)
    assert set(found.values()) == {"INVITE_WRONG"}, found
    found = await tries(world, made.table_id, "eve", role, made.invite.lower())
    found.pop("ListEvents")  # nothing was played yet
    assert set(found.values()) == {""}, found


async def test_a_role_of_a_service_makes_nobody_seated(world: Platform) -> None:
    """Sitting is a player's; an operator who is called as she is gets no further by it."""
    made = await private(world)
    found = await tries(world, made.table_id, "anna", Role.OPERATOR, "")
    assert set(found.values()) == {"INVITE_REQUIRED"}
    found = await tries(world, made.table_id, "anna", Role.PLAYER, "")
    assert (found.pop("ListEvents"), set(found.values())) == ("ROUND_NOT_FOUND", {""})


async def test_a_seat_needs_the_code_once(world: Platform) -> None:
    made = await private(world)
    for invite, reason in (("", "INVITE_REQUIRED"), (WRONG, "INVITE_WRONG")):
        failure = await refused(sit(world, made.table_id, "bert", invite))
        assert (failure.code, failure.reason) == (grpc.StatusCode.PERMISSION_DENIED, reason)
    seated = await sit(world, made.table_id, "bert", made.invite)
    again = await sit(world, made.table_id, "bert", made.invite.replace("-", " "))
    assert again == seated, "written otherwise it is the same request"
    assert await sit(world, made.table_id, "bert", "") == seated, "who sits needs no code"


async def test_few_wrong_codes_may_be_tried(world: Platform) -> None:
    """The reply says when the next is looked at; the right code too waits as long."""
    made = await private(world)
    for _ in range(WRONG_TRIES):
        failure = await refused(sit(world, made.table_id, "eve", WRONG))
        assert failure.reason == "INVITE_WRONG"
    failure = await refused(sit(world, made.table_id, "eve", made.invite))
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "INVITE_TRIES_EXHAUSTED",
    )
    assert failure.retry_after_ms is not None
    assert 0 < failure.retry_after_ms <= 60_000
    assert set((await tries(world, made.table_id, "eve", Role.PLAYER, WRONG)).values()) == {
        "INVITE_TRIES_EXHAUSTED"
    }
    assert (await sit(world, made.table_id, "bert", made.invite)).seat == 1


async def test_a_repeated_making_tells_a_code_that_holds(world: Platform) -> None:
    """The answer with the first code was lost: the table is one, and both codes open it."""
    lobby = await world.tables_as("lobby", Role.LOBBY)
    made = await lobby.OpenTable(opening())
    again = await lobby.OpenTable(opening())
    assert (again.table_id, again.seat) == (made.table_id, 0)
    assert again.invite
    assert again.invite != made.invite
    await world.stop_engine()
    await world.start_engine()
    for invite in (made.invite, again.invite):
        found = await tries(world, made.table_id, "bert", Role.PLAYER, invite)
        assert found["GetTable"] == ""


async def test_a_public_table_has_no_code(world: Platform) -> None:
    lobby = await world.tables_as("lobby", Role.LOBBY)
    request = opening()
    request.is_private = False
    made = await lobby.OpenTable(request)
    assert made.invite == ""
    assert (await tries(world, made.table_id, "eve", Role.PLAYER, ""))["WatchTable"] == ""


async def test_an_operator_looks_in_with_the_code(world: Platform) -> None:
    """What `okeyctl tables show --invite` and the others send."""
    made = await private(world)
    way = Reach(world.engine_address, world.issuer.metadata("op", Role.OPERATOR, to="engine"))
    assert (await show_table(way, made.table_id, made.invite)).config.is_private
    watched = watch_table(way, made.table_id, made.invite)
    assert (await anext(watched)).viewer == -1
    for asked in (show_table(way, made.table_id), fetch_round(way, made.table_id, 1, 1)):
        with pytest.raises(RpcFailure, match="INVITE_REQUIRED"):
            await asked
    with pytest.raises(RpcFailure, match="ROUND_NOT_FOUND"):
        await fetch_round(way, made.table_id, 1, 1, made.invite)
    with pytest.raises(RpcFailure, match="ROUND_NOT_FOUND"):
        await anext(replays.fetch(way, made.table_id, 1, None, made.invite))


async def test_whoever_played_there_shows_the_code_to_read_the_round(world: Platform) -> None:
    """Also when the table is closed and nobody sits there any more."""
    made = await private(world)
    await sit(world, made.table_id, "bert", made.invite)
    await until(world, made.table_id, "anna", lambda v: v.phase == Phase.PHASE_PLAYING)
    players = [Player(world, name, made.table_id) for name in ("anna", "bert")]
    over = (Phase.PHASE_SETTLING, Phase.PHASE_NACHSPIEL, Phase.PHASE_CLOSED)
    async with asyncio.timeout(30):
        await asyncio.gather(*(player.until_phase(*over) for player in players))
    found = await tries(world, made.table_id, "eve", Role.PLAYER, made.invite)
    assert found["ListEvents"] == ""
    found = await tries(world, made.table_id, "carl", Role.PLAYER, "")
    assert found["ListEvents"] == "INVITE_REQUIRED"


async def test_the_code_is_in_no_list_event_or_log(
    world: Platform, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither as it is told nor bare; and the database has its hash alone."""
    made = await private(world)
    await sit(world, made.table_id, "bert", made.invite)
    await refused(sit(world, made.table_id, "eve", made.invite[:-1] + "*"))
    operator = await world.operator()
    listed = await operator.ListTables(engine_pb2.ListTablesRequest())
    assert [(t.table_id, t.is_private) for t in listed.tables] == [(made.table_id, True)]
    events = events_pb2_grpc.EventServiceStub(await world.channel("team", Role.INTEGRATOR))
    told = b""
    async for row in events.Subscribe(events_pb2.SubscribeRequest()):
        told += row.SerializeToString()
        if any(event.HasField("seat_paid") and event.seat_paid.seat == 1 for event in row.events):
            break
    assert await world.where_is("bert") == made.table_id
    await world.stop_engine()
    stored = files_in(tmp_path)
    said = "".join(capfd.readouterr()).encode()
    bare = made.invite.replace("-", "")
    for place in (listed.SerializeToString(), told, stored, said):
        assert made.invite.encode() not in place
        assert bare.encode() not in place
        assert bare.lower().encode() not in place
    database = Database(f"sqlite:///{tmp_path / 'engine.db'}")
    hashes = await database.read(lambda c: c.execute(schema.invites.select()).all())
    assert [len(row.code_hash) for row in hashes] == [32]
    await database.close()


async def test_the_lobby_asks_where_a_player_sits(world: Platform) -> None:
    """Of any player, at a private table too; nobody else asks for others."""
    made = await private(world)
    assert await world.where_is("anna") == made.table_id
    assert await world.where_is("eve") == ""
    stub = await world.tables_as("eve")
    failure = await refused(stub.WhereAmI(engine_pb2.WhereAmIRequest(player="anna")))
    assert failure.reason == "PLAYER_NOT_CALLER"
    lobby = await world.tables_as("lobby", Role.LOBBY)
    failure = await refused(lobby.WhereAmI(engine_pb2.WhereAmIRequest()))
    assert failure.reason == "PLAYER_NOT_CALLER"
