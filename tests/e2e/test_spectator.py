"""What goes over the wire to a spectator, looked at byte by byte while a round is played."""

import asyncio
from collections.abc import Iterator

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey_runtime.channel import open_channel
from okey_runtime.service_token import fixed_token
from services.okeyctl.demo.platform import StartedPlatform
from tests.e2e.match import Tables, play_to_the_end

WATCH = "/okey.api.engine.v1.TableService/WatchTable"
TILE = common_pb2.Tile.DESCRIPTOR

# Where a tile lies face-up for everybody. A drawn tile is public only if it came from a pile.
PUBLIC_TILES = {"gosterge", "okey", "pile", "takeable", "discarded", "taken"}
# A commitment hides its seed; nonces are shown with the deal (T9).
PUBLIC_BYTES = {"commitment", "nonces"}


def leaves(message: Message, where: str = "") -> Iterator[tuple[str, FieldDescriptor, object]]:
    """Every set field that is no message: its name, made plain where the context decides."""
    for field, value in message.ListFields():
        values = value if field.is_repeated else [value]
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue  # display names by player
        for one in values:
            if isinstance(one, Message):
                yield from leaves(one, _named(field, one))
            else:
                name = where if where and field.name == "tile" else field.name
                yield name, field, one


def _named(field: FieldDescriptor, message: Message) -> str:
    if field.name == "tile_discarded":
        return "discarded"
    source = getattr(message, "source", None)
    if field.name == "tile_drawn" and source == common_pb2.DRAW_SOURCE_DISCARD:
        return "taken"
    return field.name


def leaks(message: Message) -> list[str]:
    """What the message tells that a spectator may not know while the round runs."""
    found = []
    for name, field, value in leaves(message):
        if field.enum_type is TILE and value and name not in PUBLIC_TILES:
            found.append(f"{name}: tile {value}")
        if field.type == FieldDescriptor.TYPE_BYTES and name not in PUBLIC_BYTES:
            found.append(f"{name}: {len(value)} bytes" if isinstance(value, bytes) else name)
    return found


def ends_round(message: engine_pb2.WatchTableResponse) -> bool:
    return any(event.HasField("round_ended") for event in message.update.events)


@pytest.mark.parametrize("with_view", [True, False], ids=["with views", "events only"])
async def test_a_spectators_bytes_hold_no_hidden_tile(
    platform: StartedPlatform, tables: Tables, with_view: bool
) -> None:
    """T9: until the round ends a spectator gets face-up tiles and commitments, nothing else."""
    seated = await tables.seat()
    table_id = seated[0].table.table_id
    token = fixed_token(platform.token("spectator"))
    async with open_channel(platform.state.address("engine"), token=token) as channel:
        watch: grpc.aio.UnaryStreamMultiCallable[engine_pb2.WatchTableRequest, bytes]
        watch = channel.unary_stream(
            WATCH, request_serializer=engine_pb2.WatchTableRequest.SerializeToString
        )
        call = watch(engine_pb2.WatchTableRequest(table_id=table_id, with_view=with_view))
        # The spectator is there before the match is played.
        first = await call.read()
        assert isinstance(first, bytes)
        playing = asyncio.create_task(play_to_the_end(seated))
        streamed = [first]
        async for raw in call:
            streamed.append(raw)
            if ends_round(engine_pb2.WatchTableResponse.FromString(raw)):
                break
        call.cancel()
        await playing
    drawn = 0
    for raw in streamed[:-1]:
        message = engine_pb2.WatchTableResponse.FromString(raw)
        assert leaks(message) == []
        drawn += sum(event.HasField("tile_drawn") for event in message.update.events)
        size = message.ByteSize()
        message.DiscardUnknownFields()
        assert message.ByteSize() == size == len(raw)
    assert drawn > 1
    last = engine_pb2.WatchTableResponse.FromString(streamed[-1])
    assert any(leak.startswith("revealed") for leak in leaks(last)), "the seed comes at the end"


async def test_the_look_at_bytes_finds_what_a_seat_sees(tables: Tables) -> None:
    """The same look finds the own rack in a seat's view: so it would find a leak."""
    seated = await tables.seat_mid_round()
    view = await seated[0].table.get()
    assert len([leak for leak in leaks(view) if leak.startswith("rack:")]) >= 14
    await play_to_the_end(seated)
