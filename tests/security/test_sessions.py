"""One session a player, where the platform is set so."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey_runtime.service_token import fixed_token
from tests.fixtures.valkey import Valkey
from tests.integration.engine.platform import refused
from tests.integration.engine.play_stream import stream_of
from tests.security.stand import PATIENCE_S, Everything, everything
from tests.security.test_revocation import everywhere

Ended = engine_pb2.StreamEndReason


@pytest.fixture
async def single(tmp_path: Path, valkey: Valkey) -> AsyncIterator[Everything]:
    """A platform on which a player has one session."""
    async with everything(tmp_path, valkey.url, clock_factor=10, single_session=True) as running:
        yield running


async def test_a_newer_session_ends_the_older_ones_streams_and_calls(single: Everything) -> None:
    table_id = await single.open_table("anna")
    old = single.issuer.token("anna")
    new = single.issuer.token("anna", ahead_ms=2_000)
    older, newer = [
        engine_pb2_grpc.TableServiceStub(await single.channel_with(fixed_token(token)))
        for token in (old, new)
    ]
    request = engine_pb2.WatchTableRequest(table_id=table_id)
    async with asyncio.timeout(PATIENCE_S):
        first = older.WatchTable(request)
        await first.read()
        second = newer.WatchTable(request)
        await second.read()
        [*_, last] = [message async for message in first]
        assert last.end.reason == Ended.STREAM_END_REASON_SESSION_REPLACED
        assert (await refused(older.WatchTable(request).read())).reason == "SESSION_REPLACED"
        await everywhere(single, old, "SESSION_REPLACED")
    assert (await newer.WhereAmI(engine_pb2.WhereAmIRequest())).table_id == table_id
    assert not second.done()
    second.cancel()


async def test_play_begins_a_session_too(single: Everything) -> None:
    table_id = await single.open_table("berna")
    async with stream_of(single, "berna", table_id) as first:
        await first.attach()
        await first.read()
        new = single.issuer.token("berna", ahead_ms=2_000)
        async with stream_of(single, "berna", table_id, token=new) as second:
            await second.attach()
            await second.read()
            await first.rest()
            assert first.end is not None
            assert first.end.reason == Ended.STREAM_END_REASON_SESSION_REPLACED
            assert second.end is None
