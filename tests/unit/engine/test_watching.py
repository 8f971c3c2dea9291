"""Following a table: gapless, bounded, and only what one may see at each moment."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table import events as e
from okey.table.reasons import ForfeitReason, VacateReason
from okey_runtime.identity import Identity, Role
from okey_runtime.revocation import Revocations
from services.engine.actor import TableActor
from services.engine.following import From, follow, watching
from services.engine.record import Row
from services.engine.watching import (
    KEPT_ROWS,
    MOST_UNREAD,
    Shown,
    StreamEndReason,
    Watcher,
    Watchers,
)
from services.engine.wire import viewers_along
from tests.unit.engine.world import (
    FOR_EVER_MS,
    World,
    mover,
    next_of,
    plain_move,
    turn_of,
    world_in,
)

HIDDEN = 0


def caller(player: str, expires_ms: int = FOR_EVER_MS) -> Identity:
    return Identity(player, frozenset({Role.PLAYER}), "", expires_ms)


async def followed(
    world: World, actor: TableActor, identity: Identity, start: From
) -> AsyncGenerator[engine_pb2.PlayResponse, None]:
    """The messages that the caller gets, the end at the end."""
    sent: asyncio.Queue[engine_pb2.PlayResponse] = asyncio.Queue()

    async def write(wire: bytes) -> None:
        response = engine_pb2.PlayResponse.FromString(wire)
        watched = engine_pb2.WatchTableResponse.FromString(wire)
        assert (response.snapshot, response.update) == (watched.snapshot, watched.update)
        sent.put_nowait(response)

    async def tell(watcher: Watcher) -> None:
        end = await follow(actor, watcher, start, world.steady, write)
        sent.put_nowait(engine_pb2.PlayResponse(end=end))

    with watching(actor, identity, start, Revocations(world.steady)) as watcher:
        telling = asyncio.create_task(tell(watcher))
        try:
            while True:
                yield await sent.get()
        finally:
            telling.cancel()


class Stream:
    """What a caller has got so far; asking for more than there is fails the test by its timeout."""

    def __init__(
        self,
        world: World,
        actor: TableActor,
        player: str,
        after: int | None = None,
        *,
        views: bool = False,
    ) -> None:
        self._stream = followed(world, actor, caller(player), From(after, views))

    async def next(self) -> engine_pb2.PlayResponse:
        return await anext(self._stream)

    async def update(self) -> engine_pb2.TableUpdate:
        followed = await self.next()
        assert followed.HasField("update")
        return followed.update

    async def snapshot(self) -> table_pb2.TableView:
        followed = await self.next()
        assert followed.HasField("snapshot")
        return followed.snapshot

    async def close(self) -> None:
        await self._stream.aclose()


def drawn_tiles(update: engine_pb2.TableUpdate) -> list[int]:
    return [x.tile_drawn.tile for x in update.events if x.WhichOneof("event") == "tile_drawn"]


async def test_a_snapshot_comes_first_and_then_every_row(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        stream = Stream(world, actor, "anna")
        assert (await stream.snapshot()).seq == actor.seq
        for _ in range(4):
            await actor.submit(plain_move(actor), world.request(mover(actor)))
        seqs = [(await stream.update()).seq for _ in range(4)]
        assert seqs == [actor.seq - 3, actor.seq - 2, actor.seq - 1, actor.seq]
        await stream.close()
        assert len(actor.watchers) == 0


@pytest.mark.parametrize("is_back", [False, True], ids=["snapshot", "cursor"])
async def test_a_stream_that_begins_just_before_a_row_gets_it_once(
    tmp_path: Path, *, is_back: bool
) -> None:
    """At whatever moment of a command's way into the journal."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        begun_at = actor.seq
        start = From(begun_at if is_back else None, with_view=False)
        got: list[list[int]] = []

        async def serve() -> None:
            seqs: list[int] = []
            got.append(seqs)

            async def write(wire: bytes) -> None:
                told = engine_pb2.PlayResponse.FromString(wire)
                seqs.append(told.update.seq or told.snapshot.seq)

            with watching(actor, caller("anna"), start, Revocations(world.steady)) as watcher:
                await follow(actor, watcher, start, world.steady, write)

        moving = asyncio.create_task(actor.submit(plain_move(actor), world.request(mover(actor))))
        serving: list[asyncio.Task[None]] = []
        while not moving.done():
            serving.append(asyncio.create_task(serve()))
            await asyncio.sleep(0)
        actor.watchers.end_all(StreamEndReason.STREAM_END_REASON_SHUTTING_DOWN)
        await asyncio.gather(*serving)
        whole = [[begun_at + 1]] if is_back else [[begun_at, begun_at + 1], [begun_at + 1]]
        assert [seqs for seqs in got if seqs and seqs not in whole] == []
        assert whole[0] in got


async def test_each_sees_its_own_tiles_and_its_own_choices_only(tmp_path: Path) -> None:
    """A drawn tile is seen by who drew it; others and spectators see that one was drawn."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        await actor.submit(plain_move(actor), world.request(mover(actor)))  # the starter discards
        player = mover(actor)
        other = "anna" if player == "bert" else "bert"
        streams = {name: Stream(world, actor, name) for name in (player, other, "zoe")}
        views = {name: await stream.snapshot() for name, stream in streams.items()}
        assert len(views[player].round.rack) == 14
        assert list(views["zoe"].round.rack) == []
        await actor.submit(plain_move(actor), world.request(player))
        updates = {name: await stream.update() for name, stream in streams.items()}
        drawn = turn_of(actor).drawn
        assert drawn_tiles(updates[player]) == [drawn]
        assert drawn_tiles(updates[other]) == drawn_tiles(updates["zoe"]) == [HIDDEN]
        discard = table_pb2.LEGAL_ACTION_DISCARD
        assert discard in updates[player].prompt.legal_actions
        assert discard not in updates[other].prompt.legal_actions
        for stream in streams.values():
            await stream.close()


async def test_who_is_no_player_sees_no_seats_tiles_whatever_it_is_called(tmp_path: Path) -> None:
    """An operator called like a player is a spectator: in snapshots, live rows and missed ones."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        cursor = actor.seq
        await actor.submit(plain_move(actor), world.request(mover(actor)))  # the starter discards
        namesake = Identity(mover(actor), frozenset({Role.OPERATOR}), "", FOR_EVER_MS)
        live = followed(world, actor, namesake, From(None, with_view=True))
        snapshot = (await anext(live)).snapshot
        assert (snapshot.viewer, list(snapshot.round.rack)) == (-1, [])
        await actor.submit(plain_move(actor), world.request(mover(actor)))
        late = followed(world, actor, namesake, From(cursor + 1, with_view=True))
        for stream in (live, late):
            update = (await anext(stream)).update
            assert drawn_tiles(update) == [HIDDEN]
            assert (update.prompt.viewer, list(update.prompt.legal_actions)) == (-1, [])
            assert (update.view.viewer, list(update.view.round.rack)) == (-1, [])
            await stream.aclose()


async def test_giving_up_makes_a_spectator_at_once_on_open_streams_too(tmp_path: Path) -> None:
    """M9: from the next event on, the former owner sees what anybody sees."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        quitter = mover(actor)
        stream = Stream(world, actor, quitter, views=True)
        assert (await stream.snapshot()).viewer >= 0
        await actor.submit(c.Forfeit(quitter), world.request(quitter))
        update = await stream.update()
        assert update.view.viewer == -1
        assert list(update.view.round.rack) == []
        assert update.prompt.viewer == -1
        await stream.close()


async def test_who_comes_back_gets_what_was_missed_and_the_prompt(tmp_path: Path) -> None:
    """Resuming: the rows after the cursor, as the player saw them, no snapshot."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        cursor = actor.seq
        await actor.submit(plain_move(actor), world.request(mover(actor)))
        player = mover(actor)
        await actor.submit(plain_move(actor), world.request(player))
        stream = Stream(world, actor, player, cursor)
        first, second = await stream.update(), await stream.update()
        assert [first.seq, second.seq] == [cursor + 1, cursor + 2]
        assert drawn_tiles(second) == [turn_of(actor).drawn]
        assert not first.HasField("prompt")
        assert table_pb2.LEGAL_ACTION_DISCARD in second.prompt.legal_actions
        await stream.close()


async def test_a_cursor_that_is_too_old_or_not_ours_gets_a_snapshot(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        for cursor in (actor.seq + 5, -KEPT_ROWS):
            stream = Stream(world, actor, "anna", cursor)
            assert (await stream.snapshot()).seq == actor.seq
            await stream.close()


async def test_a_slow_reader_is_cut_and_told_its_cursor(tmp_path: Path) -> None:
    """A bounded queue: one unread row too many ends the stream, resumably."""
    watcher = Watcher("anna", with_view=False)
    for seq in range(1, MOST_UNREAD + 2):
        watcher.give(Shown(seq, b""))
    assert await next_of(watcher) == StreamEndReason.STREAM_END_REASON_SLOW_READER
    watcher.close()


async def test_a_reader_that_keeps_up_is_never_cut() -> None:
    watcher = Watcher("anna", with_view=False)
    for seq in range(1, 3 * MOST_UNREAD):
        watcher.give(Shown(seq, b""))
        assert await next_of(watcher) == Shown(seq, b"")


async def test_a_stream_ends_with_its_token(tmp_path: Path) -> None:
    """The caller comes back with a new token and the cursor."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        ends_ms = world.steady.now_ms()
        stream = followed(world, actor, caller("anna", ends_ms), From(None, False))
        assert (await anext(stream)).HasField("snapshot")
        end = (await anext(stream)).end
        assert end.reason == StreamEndReason.STREAM_END_REASON_TOKEN_EXPIRED
        assert end.seq == actor.seq


async def test_a_closed_table_says_everything_and_ends_the_stream(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        actor = await world.open()
        stream = Stream(world, actor, "anna")
        await stream.snapshot()
        await actor.submit(c.LeaveSeat("anna"), world.request("anna"))
        seen = [await stream.next()]
        while not seen[-1].HasField("end"):
            seen.append(await stream.next())
        assert seen[-2].update.events[-1].WhichOneof("event") == "table_closed"
        assert seen[-1].end.reason == StreamEndReason.STREAM_END_REASON_TABLE_CLOSED


async def test_names_come_with_the_row_that_seats_their_owner(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        actor = await world.open()
        stream = Stream(world, actor, "zoe")
        await stream.snapshot()
        await actor.submit(c.TakeSeat("bert"), world.request("bert"), (("bert", "Bert"),))
        names: dict[str, str] = {}
        while not names:
            names = dict((await stream.update()).display_names)
        assert names == {"bert": "Bert"}
        await stream.close()


def test_old_rows_are_forgotten() -> None:
    """Memory a table is bounded."""
    watchers = Watchers()
    for seq in range(1, KEPT_ROWS + 10):
        watchers.keep(None, Row(seq, 1, (e.CountdownCancelled(),)))
    assert watchers.missed("anna", 1, KEPT_ROWS + 9, 1, {}) is None
    missed = watchers.missed("anna", 9, KEPT_ROWS + 9, 1, {})
    assert missed is not None
    assert len(missed) == KEPT_ROWS


def test_who_sees_an_event_changes_along_a_row() -> None:
    """Sitting down counts from its own event on; leaving and giving up from the next one on."""
    sit = e.SeatRequested(1, "anna", "hold", 5)
    leave = e.SeatVacated(1, "anna", "", VacateReason.LEFT, 5)
    decline = e.SeatDeclined(1, "anna", "hold", "INSUFFICIENT_FUNDS", 5)
    forfeit = e.SeatForfeited("match", 1, "anna", ForfeitReason.GAVE_UP, True, 0)
    draw = e.TileDrawn(1, c.DrawSource.STOCK, Tile.R1, True)
    assert list(viewers_along([draw, sit, draw], "anna", -1)) == [-1, 1, 1]
    for end in (leave, decline, forfeit):
        assert list(viewers_along([draw, end, draw], "anna", 1)) == [1, 1, -1]
        assert list(viewers_along([draw, end, draw], "bert", 0)) == [0, 0, 0]
