"""Subscribe: the rows of all tables in one order, nothing hidden, no gap, no double."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.events.v1 import events_pb2, events_pb2_grpc
from okey_runtime.config import ServiceSettings
from okey_runtime.identity import Role
from okey_runtime.service_token import fixed_token
from tests.integration.engine.platform import Phase, Platform, Player, platform, playing, refused

SKEW_MS: int = ServiceSettings.model_fields["token_skew_ms"].default
End = events_pb2.SubscribeEndReason
Place = tuple[str, int]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Platform]:
    async with platform(tmp_path, clock_factor=5) as running:
        yield running


class Subscriber:
    """Reads the stream of all tables; ``cursor`` is where it would go on."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.rows: list[events_pb2.SubscribeResponse] = []
        self.cursor = ""
        self.end = End.SUBSCRIBE_END_REASON_UNSPECIFIED

    async def read(self) -> bool:
        """Whether there was one more row."""
        response = await self.call.read()
        assert isinstance(response, events_pb2.SubscribeResponse), "the stream has ended"
        if response.end:
            self.end = response.end
            assert (response.table_id, response.cursor) == ("", self.cursor or response.cursor)
            return False
        self.cursor = response.cursor
        self.rows.append(response)
        return True

    async def until(self, table_id: str, kind: str) -> None:
        """Read up to such an event of the table."""
        async with asyncio.timeout(10):
            while await self.read():
                kinds = [event.WhichOneof("event") for event in self.rows[-1].events]
                if self.rows[-1].table_id == table_id and kind in kinds:
                    return
        raise AssertionError("the stream has ended")

    @property
    def places(self) -> list[Place]:
        return [(row.table_id, row.seq) for row in self.rows]


@asynccontextmanager
async def subscriber(
    world: Platform, cursor: str = "", ttl_ms: int = 600_000
) -> AsyncIterator[Subscriber]:
    token = fixed_token(world.issuer.token("team", [Role.INTEGRATOR], ttl_ms=ttl_ms))
    stub = events_pb2_grpc.EventServiceStub(await world.channel_with(token))
    call = stub.Subscribe(events_pb2.SubscribeRequest(cursor=cursor))
    yield Subscriber(call)
    call.cancel()


async def finished(world: Platform, table_id: str) -> None:
    players = [Player(world, name, table_id) for name in ("anna", "bert")]
    ends = (Phase.PHASE_NACHSPIEL, Phase.PHASE_CLOSED)
    await asyncio.gather(*(player.until_phase(*ends) for player in players))


async def test_every_row_of_every_table_comes_once_and_in_its_tables_order(
    world: Platform,
) -> None:
    """From the beginning, then live, across a restart of the engine: no gap, no double."""
    table_id, _, _ = await playing(world)
    other = await world.open_table("carl")
    async with subscriber(world) as first:
        await first.until(table_id, "turn_started")
    await world.stop_engine()
    await world.start_engine()
    async with subscriber(world, first.cursor) as second:
        await finished(world, table_id)
        await second.until(table_id, "match_ended")
    async with subscriber(world) as again:
        await again.until(table_id, "match_ended")
    places = first.places + second.places
    assert places == again.places
    for table in (table_id, other):
        seqs = [seq for table_of, seq in places if table_of == table]
        assert seqs == list(range(1, len(seqs) + 1))


async def test_nothing_hidden_is_in_it(world: Platform) -> None:
    """T9, H8: of a running round what a spectator sees: no rack, no stock, no drawn tile, no nonce;
    once it is over its seed and racks.
    """
    table_id, _, _ = await playing(world)
    async with subscriber(world) as stream:
        await finished(world, table_id)
        await stream.until(table_id, "match_ended")
    events = [event for row in stream.rows for event in row.events]
    dealt = next(event.round_dealt for event in events if event.HasField("round_dealt"))
    assert [list(rack.tiles) for rack in dealt.racks] == [[], []]
    assert (list(dealt.stock), dealt.stock_count > 0) == ([], True)
    drawn = [event.tile_drawn for event in events if event.HasField("tile_drawn")]
    from_stock = [each.tile for each in drawn if each.source == common_pb2.DRAW_SOURCE_STOCK]
    assert set(from_stock) == {common_pb2.TILE_UNSPECIFIED}
    ended = next(event.round_ended for event in events if event.HasField("round_ended"))
    assert len(ended.revealed) == 32


async def test_a_cursor_of_another_platform_is_refused(world: Platform) -> None:
    await world.open_table("anna")
    async with subscriber(world, "999999") as stream:
        assert (await refused(stream.call.read())).reason == "CURSOR_AHEAD"
    for cursor in ("-1", "x", "1" * 19):
        async with subscriber(world, cursor) as stream:
            assert (await refused(stream.call.read())).reason == "INVALID_FIELD"


async def test_the_stream_ends_with_the_token_and_says_where_to_go_on(world: Platform) -> None:
    await world.open_table("anna")
    async with subscriber(world, ttl_ms=1_000 - SKEW_MS) as stream:
        async with asyncio.timeout(10):
            while await stream.read():
                pass
    assert stream.end == End.SUBSCRIBE_END_REASON_TOKEN_EXPIRED
    table_id = await world.open_table("berna")
    async with subscriber(world, stream.cursor) as rest, subscriber(world) as whole:
        await rest.until(table_id, "table_opened")
        await whole.until(table_id, "table_opened")
    assert [*stream.places, *rest.places] == whole.places


async def test_a_stopping_engine_ends_the_stream(world: Platform) -> None:
    await world.open_table("anna")
    async with subscriber(world) as stream:
        await stream.read()
        assert world.engine is not None
        await world.engine.app.drain()
        async with asyncio.timeout(10):
            while await stream.read():
                pass
    assert stream.end == End.SUBSCRIBE_END_REASON_SHUTTING_DOWN
