"""What operators ask of all engines, where one has died and nobody has its shards yet."""

import grpc
import pytest

from okey.api.engine.v1 import peer_pb2
from okey_runtime.clock import SystemClock
from okey_runtime.database import Database
from okey_runtime.service_token import MetadataProvider, fixed_token
from services.engine.errors import NoSuchEngine, OwnerAway
from services.engine.everywhere import Everywhere
from services.engine.journal import Journal
from services.engine.members import Myself
from services.engine.peers import Peers
from services.engine.routes import Routes
from tests.members import MemoryMembers

NOW_MS = 1_000_000
ONE = Myself("one", "127.0.0.1:1", "first", frozenset())


async def nothing() -> None:
    """Nobody waits for news here."""


async def no_tables(size: int, after: str) -> peer_pb2.ListOwnTablesResponse:
    """The page of an engine that has no shard."""
    return peer_pb2.ListOwnTablesResponse()


def dial(address: str, token: MetadataProvider | None) -> grpc.aio.Channel:
    return grpc.aio.insecure_channel(address)


@pytest.fixture
async def everywhere(engine_database: Database) -> Everywhere:
    members = MemoryMembers(lambda: NOW_MS)
    await members.join(ONE)
    members.kill(ONE.engine)
    routes = Routes(members, SystemClock(), nothing)
    peers = Peers(fixed_token("nobody's"), dial)
    return Everywhere(ONE.engine, Journal(engine_database), routes, peers, no_tables)


async def test_a_shard_that_nobody_has_is_away(everywhere: Everywhere) -> None:
    with pytest.raises(OwnerAway, match="shard 7") as refused:
        await everywhere.owner_of(7)
    assert refused.value.reason == "OWNER_AWAY"


async def test_a_list_with_holes_is_refused(everywhere: Everywhere) -> None:
    """It would look like tables that have closed."""
    with pytest.raises(OwnerAway, match="holes"):
        await everywhere.list_tables(10, "")


async def test_an_engine_whose_lease_has_ended_is_no_member(everywhere: Everywhere) -> None:
    with pytest.raises(NoSuchEngine, match="no engine one lives"):
        await everywhere.member("one")
