"""A mirror over broken, cut and redirected streams, against an engine that plays a script."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest

from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.api.events.v1 import events_pb2
from okey.errors import Unavailable
from okey_client import Change, OkeyClient, RetryPolicy, RpcFailure
from okey_runtime.access import AccessTable
from okey_runtime.config import Environment, ServiceSettings
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from tests.fixtures.issuer import Issuer
from tests.fixtures.partial_service import serve_methods

SERVICE = "okey.api.engine.v1.TableService"
TABLE = "t" * 26
End = engine_pb2.StreamEndReason


class Away(Unavailable):
    reason = "TABLE_RELOADING"


Step = engine_pb2.WatchTableResponse | Exception


class ScriptedEngine:
    """Each stream plays the next script; GetTable shows the table at ``seq``."""

    def __init__(self) -> None:
        self.scripts: list[Sequence[Step]] = []
        self.cursors: list[int | None] = []
        self.nonces: list[bytes] = []
        self.seq = 0

    async def watch(
        self, request: engine_pb2.WatchTableRequest, context: object
    ) -> AsyncIterator[engine_pb2.WatchTableResponse]:
        assert request.with_view
        self.cursors.append(request.after_seq if request.HasField("after_seq") else None)
        for step in self.scripts.pop(0):
            if isinstance(step, Exception):
                raise step
            yield step

    async def get(
        self, request: engine_pb2.GetTableRequest, context: object
    ) -> engine_pb2.GetTableResponse:
        return engine_pb2.GetTableResponse(view=view(self.seq))

    async def add_nonce(
        self, request: engine_pb2.AddNonceRequest, context: object
    ) -> engine_pb2.AddNonceResponse:
        self.nonces.append(request.nonce)
        return engine_pb2.AddNonceResponse(seq=1)


class ScriptedApp:
    """A scripted engine as a service."""

    services = (SERVICE,)
    access = AccessTable.of(
        SERVICE, {name: {Role.PLAYER} for name in ("WatchTable", "GetTable", "AddNonce")}
    )

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.engine = ScriptedEngine()

    async def start(self, host: ServiceServer) -> None:
        engine = self.engine
        serve_methods(
            host,
            SERVICE,
            {
                "WatchTable": (engine.watch, engine_pb2.WatchTableRequest),
                "GetTable": (engine.get, engine_pb2.GetTableRequest),
                "AddNonce": (engine.add_nonce, engine_pb2.AddNonceRequest),
            },
        )

    async def drain(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do."""


class World:
    """Two engines, and a client whose home is the first."""

    def __init__(
        self, engines: list[ScriptedEngine], addresses: list[str], client: OkeyClient
    ) -> None:
        self.home, self.other = engines
        self.other_address = addresses[1]
        self.client = client

    async def changes(self) -> list[Change]:
        """Everything that the mirror yields until the table closes."""
        return [change async for change in self.client.table(TABLE).follow()]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    issuer = Issuer(tmp_path)
    settings = ServiceSettings(
        environment=Environment.TEST, jwks_file=issuer.jwks_file, stop_grace_ms=0
    )
    async with AsyncExitStack() as stack:
        apps = [ScriptedApp(settings), ScriptedApp(settings)]
        servers = [await stack.enter_async_context(ServiceServer(app)) for app in apps]
        addresses = [server.address for server in servers]
        client = OkeyClient(
            engine_address=addresses[0],
            token_provider=lambda: issuer.token("ada"),
            policy=RetryPolicy(tries=3, first_pause_ms=1, last_pause_ms=2),
        )
        await stack.enter_async_context(client)
        yield World([app.engine for app in apps], addresses, client)


def view(seq: int, *, takes_nonces: bool = False, commitment: bytes = b"c") -> table_pb2.TableView:
    legal = [table_pb2.LEGAL_ACTION_ADD_NONCE] if takes_nonces else []
    return table_pb2.TableView(seq=seq, legal_actions=legal, commitment=commitment)


def snapshot(seq: int, *, takes_nonces: bool = False) -> engine_pb2.WatchTableResponse:
    return engine_pb2.WatchTableResponse(snapshot=view(seq, takes_nonces=takes_nonces))


def update(
    seq: int, *, has_view: bool = True, takes_nonces: bool = False, commitment: bytes = b"c"
) -> engine_pb2.WatchTableResponse:
    paid = events_pb2.Event(seat_paid=events_pb2.SeatPaid(seat=seq))
    seen = view(seq, takes_nonces=takes_nonces, commitment=commitment)
    return engine_pb2.WatchTableResponse(
        update=engine_pb2.TableUpdate(seq=seq, events=[paid], view=seen if has_view else None)
    )


def end(reason: End.ValueType, address: str = "") -> engine_pb2.WatchTableResponse:
    return engine_pb2.WatchTableResponse(end=engine_pb2.StreamEnd(reason=reason, address=address))


CLOSED = end(End.STREAM_END_REASON_TABLE_CLOSED)


def seqs(changes: list[Change]) -> list[int]:
    return [change.seq for change in changes]


async def test_a_look_first_then_each_row_with_its_view(world: World) -> None:
    world.home.scripts = [[snapshot(4), update(5), CLOSED]]
    look, row = await world.changes()
    assert (look.seq, look.events, look.view.seq) == (4, (), 4)
    assert (row.seq, row.view.seq) == (5, 5)
    assert [event.seat_paid.seat for event in row.events] == [5]
    assert world.home.cursors == [None]


@pytest.mark.parametrize(
    "reason",
    [
        End.STREAM_END_REASON_SLOW_READER,
        End.STREAM_END_REASON_TOKEN_EXPIRED,
        End.STREAM_END_REASON_SHUTTING_DOWN,
        End.STREAM_END_REASON_TABLE_RELOADED,
    ],
)
async def test_a_stream_that_is_cut_goes_on_after_the_last_row(
    world: World, reason: End.ValueType
) -> None:
    world.home.scripts = [[snapshot(1), update(2), end(reason)], [update(3), CLOSED]]
    assert seqs(await world.changes()) == [1, 2, 3]
    assert world.home.cursors == [None, 2]


async def test_a_stream_that_breaks_goes_on_after_the_last_row(world: World) -> None:
    world.home.scripts = [[snapshot(1), Away("away")], [Away("away")], [update(2), CLOSED]]
    assert seqs(await world.changes()) == [1, 2]
    assert world.home.cursors == [None, 1, 1]


async def test_a_stream_that_just_stops_goes_on(world: World) -> None:
    world.home.scripts = [[snapshot(1)], [update(2), CLOSED]]
    assert seqs(await world.changes()) == [1, 2]


async def test_rows_that_come_again_are_told_once(world: World) -> None:
    world.home.scripts = [
        [snapshot(1), update(2), Away("away")],
        [update(2), update(3), snapshot(3), CLOSED],
    ]
    assert seqs(await world.changes()) == [1, 2, 3]


async def test_a_look_stands_for_rows_that_are_not_kept(world: World) -> None:
    world.home.scripts = [[snapshot(1), Away("away")], [snapshot(900), update(901), CLOSED]]
    assert seqs(await world.changes()) == [1, 900, 901]


async def test_missed_rows_come_with_a_view_that_is_asked_for(world: World) -> None:
    world.home.seq = 3
    world.home.scripts = [
        [snapshot(1), Away("away")],
        [update(2, has_view=False), update(3, has_view=False), CLOSED],
    ]
    changes = await world.changes()
    assert seqs(changes) == [1, 2, 3]
    assert [change.view.seq for change in changes] == [1, 3, 3]


async def test_a_view_never_gets_older(world: World) -> None:
    """A row that was under way when a newer view was asked for does not replace that view."""
    world.home.seq = 4
    world.home.scripts = [
        [snapshot(1), Away("away")],
        [update(2, has_view=False), update(3), update(4), update(5), CLOSED],
    ]
    changes = await world.changes()
    assert seqs(changes) == [1, 2, 3, 4, 5]
    assert [change.view.seq for change in changes] == [1, 4, 4, 4, 5]


@pytest.mark.parametrize("reason", [End.STREAM_END_REASON_MOVED, End.STREAM_END_REASON_NOT_OWNER])
async def test_follows_the_table_to_another_engine(world: World, reason: End.ValueType) -> None:
    world.home.scripts = [[snapshot(1), end(reason, world.other_address)]]
    world.other.scripts = [[update(2), CLOSED]]
    assert seqs(await world.changes()) == [1, 2]
    assert world.other.cursors == [1]


async def test_comes_home_when_the_other_engine_is_gone(world: World) -> None:
    moved = end(End.STREAM_END_REASON_MOVED, "127.0.0.1:1")
    world.home.scripts = [[snapshot(1), moved], [update(2), CLOSED]]
    assert seqs(await world.changes()) == [1, 2]


async def test_gives_up_when_nothing_new_comes_any_more(world: World) -> None:
    """A restart that is over resets the count, so only failures in a row count."""
    cut = end(End.STREAM_END_REASON_TABLE_RELOADED)
    world.home.scripts = [[snapshot(1), cut], [update(2), cut], *[[cut]] * 3]
    with pytest.raises(RpcFailure, match="TABLE_RELOADED"):
        await world.changes()
    world.home.scripts = [[Away("away")]] * 3
    with pytest.raises(RpcFailure) as caught:
        await world.changes()
    assert caught.value.reason == "TABLE_RELOADING"


async def test_a_refusal_ends_it_at_once(world: World) -> None:
    world.home.scripts = [[KeyError("a bug there")]]
    with pytest.raises(RpcFailure) as caught:
        await world.changes()
    assert caught.value.code is grpc.StatusCode.INTERNAL
    assert len(world.home.cursors) == 1


async def test_a_nonce_is_added_once_for_each_shuffle(world: World) -> None:
    """T9: our client always sends a random nonce, one for each commitment, when it may."""
    world.home.scripts = [
        [
            snapshot(1),
            update(2, takes_nonces=True),
            update(3, takes_nonces=True),
            update(4, commitment=b"next"),
            update(5, commitment=b"next", takes_nonces=True),
            CLOSED,
        ]
    ]
    await world.changes()
    assert [len(nonce) for nonce in world.home.nonces] == [32, 32]
    assert len(set(world.home.nonces)) == 2


async def test_no_nonce_where_none_is_wanted(world: World) -> None:
    world.home.scripts = [[snapshot(1, takes_nonces=True), CLOSED]]
    mirror = world.client.table(TABLE).follow(adds_nonces=False)
    assert [change.seq async for change in mirror] == [1]
    assert world.home.nonces == []


async def test_the_mirror_keeps_the_newest_view_and_says_why_it_ended(world: World) -> None:
    world.home.scripts = [[snapshot(1), update(2), CLOSED]]
    mirror = world.client.table(TABLE).follow()
    with pytest.raises(LookupError):
        _ = mirror.view
    assert mirror.end_reason == End.STREAM_END_REASON_UNSPECIFIED
    async for change in mirror:
        assert mirror.view == change.view
    assert mirror.view.seq == 2
    assert mirror.end_reason == End.STREAM_END_REASON_TABLE_CLOSED
