"""The one contract for requests that are sent again (docs/api.md), at the lobby's changes of a
table: it passes key and answer on, so what the engine says of them reaches the caller whole.
"""

from typing import Final

from okey.api.lobby.v1 import lobby_pb2
from tests.integration.engine.platform import refused
from tests.integration.engine.test_repeated_requests import check, keyed
from tests.integration.lobby.table_world import TWO, TableWorld, world

__all__ = ["world"]

KEY: Final = "the-same-request"
DEARER: Final = lobby_pb2.TableTerms(seat_count=2, stake=200)


def test_every_rpc_with_a_key_has_a_row() -> None:
    lobby = lobby_pb2.DESCRIPTOR.services_by_name["LobbyService"]
    assert keyed(lobby, "request_id") == {"CreateTable", "JoinTable", "LeaveTable"}


async def test_a_table_is_made_once(world: TableWorld) -> None:
    made = await world.create("ada", request_id=KEY)
    assert await world.create("ada", replica=1, request_id=KEY) == made
    failure = await refused(world.create("ada", request_id=KEY, terms=DEARER))
    check(failure, "request_id", KEY, "the content")


async def test_a_seat_is_taken_once(world: TableWorld) -> None:
    four = lobby_pb2.TableTerms(seat_count=4, stake=100)
    made = await world.create("ada", terms=four)
    taken = await world.join("bo", made.table_id, request_id=KEY, seat=2)
    assert await world.join("bo", made.table_id, replica=1, request_id=KEY, seat=2) == taken
    failure = await refused(world.join("bo", made.table_id, request_id=KEY, seat=3))
    check(failure, "request_id", KEY, "the content")


async def test_a_table_is_left_once(world: TableWorld) -> None:
    """The key of a request that took the seat gives it back to nobody."""
    made = await world.create("ada", terms=TWO)
    await world.join("bo", made.table_id, request_id=KEY)
    failure = await refused(world.leave("bo", made.table_id, request_id=KEY))
    check(failure, "request_id", KEY, "the content")
    for replica in (0, 1, 0):
        await world.leave("bo", made.table_id, request_id="another-request", replica=replica)
