"""Three engines on one PostgreSQL: whichever is asked, the call gets to the engine of its table."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import grpc
import pytest
from sqlalchemy import Connection, select, update

from okey.api.engine.v1 import engine_pb2
from okey_runtime.clock import SystemClock
from okey_runtime.database import Database
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from okey_runtime.status import OK, WARNING
from services.engine import watching
from services.engine.forwarding import FORWARDED_BY
from services.engine.schema import feed, shards
from services.engine.shards import SHARD_COUNT, shard_of
from tests.integration.engine.held_rows import kept_from_moving, kept_waiting
from tests.integration.engine.platform import (
    Ended,
    Platform,
    act,
    platform,
    playing,
    refused,
    settled,
    view_of,
)
from tests.integration.engine.play_stream import Stream, reason_of, stream_of
from tests.integration.engine.test_play import nonce
from tests.metrics import sample

CODE = grpc.StatusCode
PATIENT = {"lease_ms": 30_000, "renew_ms": 250}
"""No engine loses its lease on a busy machine, nor while a test holds its row."""
NONCE = "nonce-of-bert"
WAITS_S = 1.5
"""How long a command is not answered that waits for its table."""
CUT_AFTER_S = 0.5
"""How long a stream that has ended may be unread."""


class Three:
    """A platform with engines called one, two and three."""

    def __init__(self, world: Platform) -> None:
        self.world = world
        self.engines: dict[str, ServiceServer] = {}

    async def start(self) -> None:
        for name in ("one", "two", "three"):
            self.engines[name] = await self.world.start_beside(name, **PATIENT)
        self.world.engine_address = self.engines["one"].address
        await self.balanced()

    async def shards(self) -> engine_pb2.ListShardsResponse:
        operator = await self.world.operator()
        return await settled(lambda: operator.ListShards(engine_pb2.ListShardsRequest()))

    async def balanced(self) -> None:
        """Return once every engine that lives has its fair share."""
        async with asyncio.timeout(30):
            while True:
                counts = [member.shards for member in (await self.shards()).engines]
                if sum(counts) == SHARD_COUNT and max(counts) - min(counts) <= 1:
                    return

    async def owner_of(self, table_id: str) -> str:
        place = (await self.shards()).shards[shard_of(table_id)]
        return place.engine

    async def elsewhere(self, table_id: str) -> str:
        """The address of an engine that does not have the table."""
        owner = await self.owner_of(table_id)
        return next(server.address for name, server in self.engines.items() if name != owner)


@pytest.fixture
async def three(tmp_path: Path, postgres_url: str) -> AsyncIterator[Three]:
    async with platform(tmp_path, 20, postgres_url, engines=0) as world:
        made = Three(world)
        await made.start()
        yield made


async def test_any_engine_takes_any_call_and_streams_are_sent_on(three: Three) -> None:
    """One hop, with the caller's own token; a call that was passed on is not passed on again."""
    world = three.world
    table_id, mover, other = await playing(world)
    wrong = await three.elsewhere(table_id)
    stub = await world.tables_as(mover, at=wrong)
    view = (await stub.GetTable(engine_pb2.GetTableRequest(table_id=table_id))).view
    assert view.viewer == view.round.turn.seat, "its own seat's view"
    request = act(world, view)
    first = await stub.Act(request)
    assert (await stub.Act(request)).seq == first.seq, "the same request, the same answer"
    stranger = await world.tables_as("zoe", at=wrong)
    failure = await refused(stranger.Act(act(world, view)))
    assert (failure.code, failure.reason) == (CODE.PERMISSION_DENIED, "NOT_SEATED")

    located = await stub.LocateTable(engine_pb2.LocateTableRequest(table_id=table_id))
    assert located.engine == await three.owner_of(table_id)
    assert located.address == three.engines[located.engine].address
    where = await (await world.tables_as(other, at=wrong)).WhereAmI(engine_pb2.WhereAmIRequest())
    assert (where.table_id, where.address) == (table_id, located.address)
    hop = stub.GetTable(
        engine_pb2.GetTableRequest(table_id=table_id), metadata=((FORWARDED_BY, "somebody"),)
    )
    failure = await refused(hop)
    assert (failure.code, failure.reason) == (CODE.UNAVAILABLE, "NOT_OWNER")
    assert failure.metadata["address"] == located.address
    [only] = [m async for m in stub.WatchTable(engine_pb2.WatchTableRequest(table_id=table_id))]
    assert only.end.reason == Ended.STREAM_END_REASON_NOT_OWNER
    assert only.end.address == located.address


async def test_a_shard_that_is_moved_takes_its_streams_along(three: Three) -> None:
    """MOVED and the new address; it stays there, and one result a command."""
    world = three.world
    table_id, mover, _ = await playing(world)
    owner = await three.owner_of(table_id)
    to = next(name for name in three.engines if name != owner)
    stub = await world.tables_as(mover, at=three.engines[owner].address)
    stream = stub.WatchTable(engine_pb2.WatchTableRequest(table_id=table_id))
    await stream.read()
    moved = await (await world.operator()).MoveTable(
        engine_pb2.MoveTableRequest(table_id=table_id, engine=to)
    )
    assert moved.address == three.engines[to].address
    end = await _end(stream)
    assert (end.reason, end.address) == (Ended.STREAM_END_REASON_MOVED, moved.address)
    view = await view_of(world, table_id, mover)
    assert (await stub.Act(act(world, view))).seq == view.seq + 1
    place = (await three.shards()).shards[shard_of(table_id)]
    assert (place.engine, place.is_pinned) == (to, True)


@pytest.mark.parametrize("asked", ["its owner", "another"])
async def test_a_shard_that_is_moved_to_where_it_is_stays_there(three: Three, asked: str) -> None:
    """The operator has said so; nothing else changes, and no clock stands still for it."""
    shard = 7
    owner = (await three.shards()).shards[shard].engine
    others = [name for name in three.engines if name != owner]
    at = three.engines[owner if asked == "its owner" else others[0]].address
    operator = await three.world.operator(at)
    request = engine_pb2.MoveShardRequest(shard=shard, engine=owner)
    assert (await operator.MoveShard(request)).address == three.engines[owner].address
    place = (await three.shards()).shards[shard]
    assert (place.engine, place.is_pinned) == (owner, True)


async def test_an_engine_that_leaves_hands_everything_over(three: Three) -> None:
    """No call fails meanwhile, and its streams say where they go on."""
    world = three.world
    table_id, mover, _ = await playing(world)
    owner = await three.owner_of(table_id)
    stays = next(name for name in three.engines if name != owner)
    world.engine_address = three.engines[stays].address
    stub = await world.tables_as(mover)
    direct = await world.tables_as(mover, at=three.engines[owner].address)
    stream = direct.WatchTable(engine_pb2.WatchTableRequest(table_id=table_id))
    await stream.read()
    asked = 0
    leaving = asyncio.create_task(world.stop_beside(owner))
    while not leaving.done():
        await stub.GetTable(engine_pb2.GetTableRequest(table_id=table_id))
        asked += 1
    await leaving
    assert asked, "there was time to ask"
    end = await _end(stream)
    assert end.reason == Ended.STREAM_END_REASON_MOVED
    assert end.address in {three.engines[n].address for n in three.engines if n != owner}
    assert {member.engine for member in (await three.shards()).engines} == three.engines.keys() - {
        owner
    }
    view = await view_of(world, table_id, mover)
    assert (await stub.Act(act(world, view))).seq == view.seq + 1


async def test_lists_and_switches_speak_for_all_engines(three: Three) -> None:
    world = three.world
    made = {await world.open_table(f"player{number}") for number in range(8)}
    assert len({await three.owner_of(table_id) for table_id in made}) > 1
    for server in three.engines.values():
        operator = await world.operator(at=server.address)
        listed, token = set[str](), ""
        while True:
            page = await operator.ListTables(
                engine_pb2.ListTablesRequest(page_size=3, page_token=token)
            )
            listed |= {table.table_id for table in page.tables}
            token = page.next_page_token
            if not token:
                break
        assert listed == made
    operator = await world.operator(at=three.engines["two"].address)
    await operator.SetMaintenance(engine_pb2.SetMaintenanceRequest(is_on=True))
    for server in three.engines.values():
        lobby = await world.tables_as("lobby", Role.LOBBY, at=server.address)
        request = engine_pb2.OpenTableRequest(
            request_id="maintenance-1",
            player="zoe",
            seat_count=2,
            stake=100,
            turn_timeout_ms=60_000,
        )
        assert (await refused(lobby.OpenTable(request))).reason == "MAINTENANCE"
    [table_id, *_] = made
    wrong = await world.operator(at=await three.elsewhere(table_id))
    await wrong.QuarantineTable(
        engine_pb2.QuarantineTableRequest(table_id=table_id, reason="a test")
    )
    for server in three.engines.values():
        spectator = await world.tables_as("zoe", at=server.address)
        asked = spectator.GetTable(engine_pb2.GetTableRequest(table_id=table_id))
        assert (await refused(asked)).reason == "TABLE_QUARANTINED"


async def test_each_engine_tells_of_its_own_tables(three: Three) -> None:
    """They share a process here, and with it the process's metrics."""
    world = three.world
    table_id = await world.open_table("anna")
    owner = await three.owner_of(table_id)
    for name, server in three.engines.items():
        told = await server.status.tell(with_checks=False)
        assert told.figures["tables"] == (name == owner)
    await (await world.operator()).QuarantineTable(
        engine_pb2.QuarantineTableRequest(table_id=table_id, reason="a test")
    )
    for name, server in three.engines.items():
        checks = (await server.status.tell(with_checks=True)).checks
        [tables] = [check for check in checks if check.name == "tables"]
        assert tables.state == (WARNING if name == owner else OK), tables.text


async def _end(
    stream: "grpc.aio.UnaryStreamCall[engine_pb2.WatchTableRequest, engine_pb2.WatchTableResponse]",
) -> engine_pb2.StreamEnd:
    async with asyncio.timeout(10):
        async for message in stream:
            if message.WhichOneof("message") == "end":
                return message.end
    raise AssertionError("the stream ended without a reason")


async def test_commands_of_a_stream_wait_while_their_table_is_handed_over(
    three: Three, postgres_url: str
) -> None:
    """They are answered by the engine that has it then, in their order, before the stream ends."""
    world = three.world
    table_id, owner, to = await _waiting_table(three)
    async with stream_of(world, "bert", table_id) as stream:
        async with kept_from_moving(postgres_url, owner):
            await stream.attach()
            moving = await _begin_move(three, table_id, to)
            asked, answering = await _until_one_waits(stream)
            leaving = engine_pb2.LeaveSeatRequest(table_id=table_id, request_id="leaving-1")
            await stream.say(engine_pb2.PlayRequest(leave_seat=leaving))
        await moving
        await answering
        await stream.rest()
    assert [reason_of(result) for result in stream.results] == [""] * (asked + 1)
    *_, waited, left = stream.results
    assert (waited.request_id, waited.seq) == (NONCE, stream.results[0].seq)
    assert left.request_id == "leaving-1"
    assert left.seq > waited.seq
    assert stream.end is not None
    assert stream.end.reason == Ended.STREAM_END_REASON_MOVED
    assert stream.end.address == three.engines[to].address


async def test_a_command_waits_no_longer_for_its_table_than_its_caller_does(
    three: Three, postgres_url: str
) -> None:
    """Nobody knows then whether it counts; those before it wait on."""
    world = three.world
    table_id, owner, to = await _waiting_table(three)
    async with stream_of(world, "bert", table_id) as stream:
        async with kept_from_moving(postgres_url, owner):
            await stream.attach()
            moving = await _begin_move(three, table_id, to)
            _, answering = await _until_one_waits(stream)
            hurried = nonce(table_id, "hurried-1")
            hurried.timeout_ms = 100
            await stream.say(hurried)
            [*_, result] = await answering
        await moving
        await stream.rest()
    assert (result.request_id, reason_of(result)) == ("hurried-1", "COMMAND_TIMED_OUT")
    assert (stream.results[-1].request_id, reason_of(stream.results[-1])) == (NONCE, "")


async def test_a_stream_whose_commands_wait_for_long_is_not_cut_for_that(
    three: Three, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reader has read everything: its time to read the end begins once they are answered."""
    monkeypatch.setattr(watching, "CUT_AFTER_S", CUT_AFTER_S)
    clock = SystemClock()
    table_id, owner, to = await _waiting_table(three)
    async with stream_of(three.world, "bert", table_id) as stream:
        ended = _ended_by_a_move()
        async with AsyncExitStack() as unwritten:
            async with kept_from_moving(postgres_url, owner):
                await stream.attach()
                moving = await _begin_move(three, table_id, to)
                _, answering = await _until_one_waits(stream)
                # From here on no engine can write a row.
                await unwritten.enter_async_context(kept_waiting(postgres_url, select(feed)))
            async with asyncio.timeout(10):
                while _ended_by_a_move() == ended:
                    await clock.sleep_until_ms(clock.monotonic_ms() + 10)
            await clock.sleep_until_ms(clock.monotonic_ms() + round(1_500 * CUT_AFTER_S))
        await moving
        await answering
        await stream.rest()
    assert reason_of(stream.results[-1]) == ""
    assert stream.end is not None
    assert stream.end.reason == Ended.STREAM_END_REASON_MOVED


def _ended_by_a_move() -> float:
    return sample("okey_engine_watchers_cut_total", reason="STREAM_END_REASON_MOVED")


async def test_a_stream_finds_its_table_where_it_was_given_just_now(
    three: Three, postgres_url: str
) -> None:
    """An engine that has not looked yet looks before it sends anybody on."""
    world = three.world
    table_id, mover, _ = await playing(world)
    owner = await three.owner_of(table_id)
    to = next(name for name in three.engines if name != owner)
    stub = await world.tables_as(mover, at=three.engines[to].address)
    database = Database(postgres_url)

    def give(connection: Connection) -> None:
        of_table = shards.c.shard == shard_of(table_id)
        connection.execute(update(shards).where(of_table).values(owner=to, is_pinned=True))

    await database.transact(give)
    await database.close()
    stream = stub.WatchTable(engine_pb2.WatchTableRequest(table_id=table_id))
    async with asyncio.timeout(10):
        message = await stream.read()
    assert isinstance(message, engine_pb2.WatchTableResponse)
    assert message.WhichOneof("message") == "snapshot", message


async def _waiting_table(three: Three) -> tuple[str, str, str]:
    """A table where bert waits for more people, the engine that has it, asked from now on, and one
    that does not.
    """
    table_id = await three.world.open_table("anna", seat_count=4)
    await three.world.take_seat(table_id, "bert")
    owner = await three.owner_of(table_id)
    three.world.engine_address = three.engines[owner].address
    return table_id, owner, next(name for name in three.engines if name != owner)


async def _begin_move(three: Three, table_id: str, to: str) -> "asyncio.Future[object]":
    operator = await three.world.operator(at=three.engines[to].address)
    request = engine_pb2.MoveTableRequest(table_id=table_id, engine=to)
    return asyncio.ensure_future(operator.MoveTable(request))


async def _until_one_waits(
    stream: Stream,
) -> tuple[int, "asyncio.Future[list[engine_pb2.CommandResult]]"]:
    """Send the same command again until it is not answered for a while; how often it was sent, and
    the answers once there is one more.
    """
    async with asyncio.timeout(10):
        for number in count(1):
            await stream.say(nonce(stream.table_id, NONCE))
            answering = asyncio.ensure_future(stream.until_answered(number))
            await asyncio.wait({answering}, timeout=WAITS_S)
            if not answering.done():
                return number, answering
            assert reason_of(answering.result()[-1]) == ""
    raise AssertionError("nothing was handed over")
