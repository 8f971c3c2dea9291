"""What somebody who does not own the seat can do and see: nothing, and what any spectator sees."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from google.protobuf.message import Message

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey_runtime.access import Public
from okey_runtime.identity import Role
from tests.integration.engine.platform import act, playing, view_of
from tests.security.rpcs import Rpc, access_of, every_rpc
from tests.security.stand import Everything
from tests.streams import cancelling

NOT_THEIRS = {"NOT_SEATED", "PLAYER_NOT_CALLER", "NO_ROUND"}
READS = {"GetTable", "LocateTable", "WatchTable", "ListEvents"}
"""Calls of a table that everybody may make; what they show is compared below."""


@pytest.fixture
async def table(world: Everything) -> AsyncIterator[tuple[str, str, str]]:
    """A table in its first turn: its id, who is to move, who is not; voided afterwards."""
    table_id, mover, waiter = await playing(world)
    yield table_id, mover, waiter
    operator = await world.operator()
    await operator.VoidTable(
        engine_pb2.VoidTableRequest(table_id=table_id, reason="over", request_id=world.request_id())
    )


def of_a_table() -> Iterator[Rpc]:
    """Every call about a seat at a table that a player may make, Play apart."""
    for rpc in every_rpc():
        rule = access_of(rpc.home).rules()[rpc.path]
        assert not isinstance(rule, Public)
        names_a_table = "table_id" in rpc.request.DESCRIPTOR.fields_by_name
        if rpc.home == "engine" and Role.PLAYER in rule and names_a_table and rpc.name not in READS:
            yield rpc


SEATED_CALLS = list(of_a_table())


def filled(message: Message, world: Everything, view: table_pb2.TableView) -> Message:
    """The message as the seat's owner would send it."""
    values: dict[str, Any] = {
        "table_id": view.config.table_id,
        "request_id": world.request_id(),
        "turn": view.round.turn.number,
        "nonce": bytes(32),
        "action": table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock()),
    }
    known = {name: value for name, value in values.items() if name in _fields(message)}
    return type(message)(**known)


def _fields(message: Message) -> set[str]:
    return set(message.DESCRIPTOR.fields_by_name)


def test_the_calls_are_found() -> None:
    assert {rpc.name for rpc in SEATED_CALLS} >= {
        "LeaveSeat", "AddNonce", "Act", "Forfeit", "ReturnToSeat", "PlayOn", "ArrangeRack"
    }  # fmt: skip


async def test_no_call_reaches_another_players_seat(
    world: Everything, table: tuple[str, str, str]
) -> None:
    """W3: a stranger is refused, and so is a service that has the owner's id."""
    table_id, mover, _ = table
    view = await view_of(world, table_id, mover)
    strangers = [world.issuer.token("zoe"), world.issuer.token(mover, [Role.OPERATOR], to="engine")]
    for rpc in SEATED_CALLS:
        for token in strangers:
            request = filled(rpc.request(), world, view)
            outcome = await world.call(rpc, [request.SerializeToString()], token)
            assert outcome.reason in NOT_THEIRS | {"ROLE_REFUSED"}, f"{rpc.short}: {outcome}"
            if "player" in _fields(request):
                named = type(request)(player=mover)
                named.MergeFrom(request)
                outcome = await world.call(rpc, [named.SerializeToString()], token)
                assert outcome.reason in NOT_THEIRS | {"ROLE_REFUSED"}, f"{rpc.short}: {outcome}"
    assert (await view_of(world, table_id, mover)).seq == view.seq


async def test_no_command_of_a_strangers_stream_reaches_a_seat(
    world: Everything, table: tuple[str, str, str]
) -> None:
    """W3: whoever attaches to a table may watch; each command is refused, whatever it is."""
    table_id, mover, _ = table
    view = await view_of(world, table_id, mover)
    attach = engine_pb2.PlayRequest(attach=engine_pb2.Attach(table_id=table_id))
    commands = []
    for field in attach.DESCRIPTOR.oneofs_by_name["message"].fields:
        if field.name != "attach":
            command = engine_pb2.PlayRequest()
            getattr(command, field.name).CopyFrom(filled(getattr(command, field.name), world, view))
            commands.append(command)
    stub = await world.tables_as("zoe")
    reasons: list[str] = []
    with cancelling(stub.Play()) as stream:
        for message in (attach, *commands):
            await stream.write(message)
        while len(reasons) < len(commands):
            answer: Any = await stream.read()
            if answer.WhichOneof("message") == "result":
                reasons.append(answer.result.error.message or "accepted")
    assert len(commands) >= 5
    assert all("no seat" in reason for reason in reasons), reasons
    assert (await view_of(world, table_id, mover)).seq == view.seq


async def test_a_second_account_learns_what_any_spectator_learns(
    world: Everything, table: tuple[str, str, str]
) -> None:
    """T9: byte by byte, over GetTable, WatchTable and Play, before and after a draw."""
    table_id, mover, _ = table
    async with AsyncExitStack() as stack:
        seen = {}
        for name, roles in {
            "second-account": (Role.PLAYER,),
            "auditor": (Role.OPERATOR,),
            mover: (Role.PLAYER,),
        }.items():
            stub = await world.tables_as(name, *roles)
            seen[name] = await Eyes.open(stack, stub, table_id, plays=Role.PLAYER in roles)
        view = await view_of(world, table_id, mover)
        await (await world.tables_as(mover)).Act(act(world, view))
        shown = {name: await eyes.all() for name, eyes in seen.items()}
    spectator = shown["auditor"]
    assert shown["second-account"][:3] == spectator[:3]
    # What Play shows is what WatchTable shows.
    assert shown["second-account"][3:] == spectator[1:3]
    assert shown[mover][0] != spectator[0]
    assert shown[mover][2] != spectator[2]


class Eyes:
    """What one caller is shown: the view, then snapshot and update of each kind of stream."""

    def __init__(self, streams: list[Any], view: table_pb2.TableView, snapshots: list[Any]) -> None:
        self._streams = streams
        self._view = view
        self._snapshots = snapshots

    @classmethod
    async def open(
        cls,
        stack: AsyncExitStack,
        stub: engine_pb2_grpc.TableServiceStub,
        table_id: str,
        *,
        plays: bool,
    ) -> "Eyes":
        watch = engine_pb2.WatchTableRequest(table_id=table_id, with_view=True)
        streams: list[Any] = [stack.enter_context(cancelling(stub.WatchTable(watch)))]
        if plays:
            stream: Any = stack.enter_context(cancelling(stub.Play()))
            attach = engine_pb2.Attach(table_id=table_id, with_view=True)
            await stream.write(engine_pb2.PlayRequest(attach=attach))
            streams.append(stream)
        snapshots = [(await each.read()).snapshot for each in streams]
        view = (await stub.GetTable(engine_pb2.GetTableRequest(table_id=table_id))).view
        return cls(streams, view, snapshots)

    async def all(self) -> list[bytes]:
        """The view, and each stream's snapshot and next update, without the server's time."""
        updates = await asyncio.gather(*(stream.read() for stream in self._streams))
        found: list[Any] = [self._view]
        for snapshot, update in zip(self._snapshots, updates, strict=True):
            found += [snapshot, update.update]
        return [_timeless(each) for each in found]


def _timeless(message: Any) -> bytes:
    message.server_time_ms = 0
    if "view" in _fields(message):
        message.view.server_time_ms = 0
    content: bytes = message.SerializeToString(deterministic=True)
    return content
