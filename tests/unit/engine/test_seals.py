"""Seeds, nonces and hidden tiles of running rounds are encrypted in the database (T9): who has the
database and not the key learns none of them, and a lost key costs running rounds and nothing else.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY
from sqlalchemy import select, update
from structlog.testing import capture_logs

from okey.api.journal.v1 import journal_pb2
from okey.table import commands as c
from okey.table import events as e
from okey.table.evolve import turn_of
from okey.table.public import REVEALED, public_event
from okey.table.reasons import VoidReason
from okey.table.state import Phase
from okey_runtime.seal_keys import (
    SealKeysFile,
    read_seal_keys,
    rotate_seal_keys,
    write_seal_keys,
)
from services.engine.actor import TableActor
from services.engine.finished_round import find_round
from services.engine.record import decode_events
from services.engine.schema import journal, snapshots
from services.engine.seal_boxes import SealBroken, key_for, put_in_box
from services.engine.seals import SealKeyElsewhere, Seals
from services.engine.shards import Member
from tests.thief import Secrets, learned, values_in
from tests.unit.engine.world import TABLE_ID, World, until, world_in

NONCES = (b"\x11" * 32, b"\x22" * 32)


async def in_a_round(world: World) -> TableActor:
    """A table in its first round, after some turns, with nonces and a snapshot."""
    actor = await world.open()
    await actor.submit(c.AddNonce("anna", NONCES[0]), world.request("anna"))
    names = (("bert", "Bert"),)
    await actor.submit(c.TakeSeat("bert"), world.request("bert"), names)
    await until(actor, lambda state: state.phase is Phase.COUNTDOWN)
    await actor.submit(c.AddNonce("bert", NONCES[1]), world.request("bert"))
    await world.pass_countdown(actor)
    await play_turns(world, actor, 6)
    await world.tables.snapshotter.write()
    return actor


async def play_turns(world: World, actor: TableActor, count: int) -> None:
    """Turns that draw from the stock and lay the drawn tile."""
    for _ in range(count):
        turn = turn_of(actor.table)
        player = actor.table.seats[turn.seat].player
        if turn.drawn is None:
            move = c.PlayerMove(player, turn.number, c.Draw(c.DrawSource.STOCK))
            await actor.submit(move, world.request(player))
        drawn = turn_of(actor.table).drawn
        assert drawn is not None
        move = c.PlayerMove(player, turn.number, c.Discard(drawn))
        await actor.submit(move, world.request(player))


def world_sealed(tmp_path: Path, *, is_on: bool = True) -> AbstractAsyncContextManager[World]:
    """A world whose engine takes snapshots often."""
    return world_in(tmp_path, is_sealed=is_on, snapshot_every_rows=3)


async def stolen(world: World, nonces: tuple[bytes, ...]) -> set[str]:
    """What somebody learns who has a copy of the database, its log included."""
    folder = Path(world.url.removeprefix("sqlite:///")).parent
    files = [path.read_bytes() for path in sorted(folder.glob("engine.db*"))]
    assert any(TABLE_ID.encode() in file for file in files)
    table = (await world.tables.get(TABLE_ID)).table
    return learned(Secrets.of(table, nonces), await values_in(world.database), files)


@pytest.mark.parametrize("is_on", [True, False])
async def test_a_copy_of_the_database_shows_no_tile_of_a_running_round(
    tmp_path: Path, is_on: bool
) -> None:
    async with world_sealed(tmp_path, is_on=is_on) as world:
        await in_a_round(world)
        found = await stolen(world, NONCES)
        # Without encryption the thief finds everything, so it would find it here.
        everything = {"seed", "nonce", "tiles", "rack", "stock", "draw", "snapshot"}
        assert found == (set() if is_on else everything)


async def test_a_waiting_table_shows_neither_seed_nor_nonce(tmp_path: Path) -> None:
    async with world_sealed(tmp_path) as world:
        actor = await world.open()
        await actor.submit(c.AddNonce("anna", NONCES[0]), world.request("anna"))
        assert await stolen(world, NONCES) == set()


async def test_a_restart_with_the_key_goes_on_with_the_round(tmp_path: Path) -> None:
    async with world_sealed(tmp_path) as world:
        actor = await in_a_round(world)
        before = actor.table.round
        await world.crash()
        await world.boot()
        after = (await world.tables.get(TABLE_ID)).table.round
        assert before is not None
        assert after is not None
        assert (after.seed, after.stock, after.nonces) == (before.seed, before.stock, before.nonces)
        assert [hand.rack for hand in after.hands] == [hand.rack for hand in before.hands]


async def test_a_round_that_is_over_opens_without_the_key(tmp_path: Path) -> None:
    async with world_sealed(tmp_path) as world:
        actor = await in_a_round(world)
        dealt = actor.table.round
        assert dealt is not None
        await actor.submit(c.VoidMatch("operator", "a test"))
        rows = await world.journal.rows(TABLE_ID)
        await lose_the_key(world)
        found = find_round(await world.journal.rows(TABLE_ID), 1, 1)
        shown = find_round(rows, 1, 1)
        # Its last event seals the seed after it, which nobody may know yet.
        assert found.rows[:-1] == shown.rows[:-1]
        [first, second] = (each.rows[-1].events[-1] for each in (found, shown))
        assert public_event(first, REVEALED) == public_event(second, REVEALED)
        [deal] = [x for row in found.rows for x in row.events if isinstance(x, e.RoundDealt)]
        assert deal.nonces == NONCES
        assert all(x.tile for row in found.rows for x in row.events if isinstance(x, e.TileDrawn))


async def lose_the_key(world: World) -> None:
    """The engine is killed, its file swapped for another one, and started again."""
    await world.crash()
    assert world.seal_keys is not None
    world.seal_keys.unlink()
    rotate_seal_keys(world.seal_keys)
    await world.boot()


async def test_a_lost_key_voids_the_match_of_a_running_round_and_gives_the_stakes_back(
    tmp_path: Path,
) -> None:
    async with world_sealed(tmp_path) as world:
        await in_a_round(world)
        await lose_the_key(world)
        actor = await world.tables.get(TABLE_ID)
        events = [x for row in await world.journal.rows(TABLE_ID) for x in row.events]
        [voided] = [x for x in events if isinstance(x, e.MatchVoided)]
        assert (voided.reason, voided.revealed) == (VoidReason.KEY_LOST, b"")
        assert len(voided.sealed.seed) == 32
        assert actor.table.phase is Phase.NACHSPIEL
        await world.wallet.script.until(lambda script: "VoidMatch" in script.names)


async def test_a_lost_key_is_only_another_seed_for_a_table_that_waits(tmp_path: Path) -> None:
    async with world_sealed(tmp_path) as world:
        actor = await world.open()
        await actor.submit(c.AddNonce("anna", NONCES[0]), world.request("anna"))
        was = actor.table
        await lose_the_key(world)
        now = (await world.tables.get(TABLE_ID)).table
        assert now.sealed is not None
        assert was.sealed is not None
        assert len(now.sealed.seed) == 32
        assert now.sealed.commitment != was.sealed.commitment
        seats = tuple(replace(seat, nonce=b"") for seat in was.seats)
        assert replace(now, sealed=None) == replace(was, sealed=None, seats=seats)


async def test_after_a_lost_key_the_table_plays_a_new_match_and_survives_restarts(
    tmp_path: Path,
) -> None:
    async with world_sealed(tmp_path) as world:
        await in_a_round(world)
        await lose_the_key(world)
        actor = await world.tables.get(TABLE_ID)
        for player in ("anna", "bert"):
            await actor.submit(c.PlayOn(player), world.request(player))
        await until(actor, lambda state: state.phase is Phase.COUNTDOWN)
        await world.pass_countdown(actor)
        await play_turns(world, actor, 3)
        dealt = actor.table.round
        assert dealt is not None
        await world.crash()
        await world.boot()
        again = (await world.tables.get(TABLE_ID)).table.round
        assert again is not None
        assert again.seed == dealt.seed
        assert again.stock == dealt.stock


async def test_a_round_whose_key_was_lost_is_shown_to_nobody(tmp_path: Path) -> None:
    async with world_sealed(tmp_path) as world:
        await in_a_round(world)
        await lose_the_key(world)
        await world.tables.get(TABLE_ID)
        with pytest.raises(Exception, match="key that it was encrypted with is lost"):
            find_round(await world.journal.rows(TABLE_ID), 1, 1)


async def test_a_new_key_is_used_for_the_next_deal_and_the_old_one_until_then(
    tmp_path: Path,
) -> None:
    async with world_sealed(tmp_path) as world:
        actor = await in_a_round(world)
        old_id = actor.seal.key_id
        assert world.seal_keys is not None
        fresh = rotate_seal_keys(world.seal_keys)
        await world.sharing.look()
        assert world.journal.seals.newest_id == fresh.key_id
        await world.crash()
        await world.boot()
        actor = await world.tables.get(TABLE_ID)
        assert actor.table.phase is Phase.PLAYING
        assert actor.seal.key_id == old_id
        await actor.submit(c.VoidMatch("operator", "a test"))
        assert actor.seal.key_id == fresh.key_id
        # Now the old one may go.
        write_seal_keys(world.seal_keys, (fresh,))
        await world.crash()
        await world.boot()
        assert (await world.tables.get(TABLE_ID)).table.phase is Phase.NACHSPIEL


async def test_a_key_that_another_engine_has_is_waited_for(tmp_path: Path) -> None:
    async with world_sealed(tmp_path) as world:
        actor = await in_a_round(world)
        assert actor.table.round is not None
        state = replace(actor.table, round=replace(actor.table.round, seed=b""))
        missing = {actor.table.round.commitment[:8]: actor.seal.key_id}
        with pytest.raises(SealKeyElsewhere, match="OKEY_SEAL_KEYS_FILE"):
            world.journal.seals.judge(state, missing)
        assert SealKeyElsewhere.reason == "SEAL_KEY_ELSEWHERE"


async def test_beside_an_engine_without_keys_only_one_that_encrypts_goes_on(tmp_path: Path) -> None:
    async with world_sealed(tmp_path) as world:
        older = World(tmp_path, "engine-2", beside=world)
        older.seal_keys = None
        await older.start()
        try:
            await world.sharing.look()
            actor = await world.open()
            [opened, *_] = await world.journal.stored_rows(TABLE_ID)
            [event, *_] = decode_events(opened.payload)
            assert isinstance(event, e.TableOpened)
            assert (event.sealed.seed, actor.table.phase) == (b"", Phase.WAITING)
            assert world.seal_keys is not None
            started = Seals(SealKeysFile(world.seal_keys))
            started.follow(world.ownership.board.living())
            assert started.current is None
        finally:
            await older.stop()


async def test_rows_written_before_encryption_and_after_it_make_one_table(tmp_path: Path) -> None:
    async with world_sealed(tmp_path, is_on=False) as world:
        actor = await in_a_round(world)
        before = actor.table.round
        await world.crash()
        world.seal_keys = tmp_path / "seal-keys"
        rotate_seal_keys(world.seal_keys)
        await world.boot()
        actor = await world.tables.get(TABLE_ID)
        await play_turns(world, actor, 4)
        played = actor.table.round
        await world.crash()
        await world.boot()
        after = (await world.tables.get(TABLE_ID)).table.round
        assert before is not None
        assert played is not None
        assert after is not None
        assert after.seed == before.seed
        assert after.stock == played.stock


async def payload_of(world: World, seq: int) -> bytes:
    query = select(journal.c.payload).where(journal.c.seq == seq)
    return await world.database.read(lambda x: x.execute(query).scalar_one())


async def put_payload(world: World, seq: int, payload: bytes) -> None:
    change = update(journal).where(journal.c.seq == seq).values(payload=payload)
    await world.database.transact(lambda x: x.execute(change))


async def test_a_row_that_was_changed_or_moved_does_not_open(tmp_path: Path) -> None:
    async with world_sealed(tmp_path) as world:
        await in_a_round(world)
        rows = await world.journal.stored_rows(TABLE_ID)
        draws = [
            row.seq
            for row in await world.journal.rows(TABLE_ID)
            if isinstance(row.events[0], e.TileDrawn)
        ]
        first = await payload_of(world, draws[0])
        second = await payload_of(world, draws[1])
        await put_payload(world, draws[0], second)
        with pytest.raises(SealBroken):
            await world.journal.rows(TABLE_ID)
        await put_payload(world, draws[0], first[:-1] + bytes([first[-1] ^ 1]))
        with pytest.raises(SealBroken):
            await world.journal.rows(TABLE_ID)
        await put_payload(world, draws[0], first)
        assert await world.journal.stored_rows(TABLE_ID) == rows


async def test_a_snapshot_without_its_key_is_passed_over(tmp_path: Path) -> None:
    async with world_sealed(tmp_path) as world:
        await in_a_round(world)
        kept: Any = await world.database.read(lambda x: x.execute(select(snapshots)).one())
        assert b"seed" not in kept.payload
        await lose_the_key(world)
        assert (await world.tables.get(TABLE_ID)).table.phase is Phase.NACHSPIEL


async def test_the_key_file_is_read_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    first = rotate_seal_keys(path)
    second = rotate_seal_keys(path)
    assert [key.key_id for key in read_seal_keys(path)] == [second.key_id, first.key_id]
    assert path.stat().st_mode & 0o777 == 0o600
    await asyncio.to_thread(path.chmod, 0o644)
    with pytest.raises(Exception, match="chmod 600"):
        read_seal_keys(path)


def member(engine: str, keys: frozenset[int] = frozenset()) -> Member:
    return Member(engine, f"{engine}:1", "1", 0, 0, True, keys | {1, 2})


def without_keys() -> float | None:
    return REGISTRY.get_sample_value("okey_engine_unsealed_members")


def seals_in(folder: Path) -> Seals:
    """An engine that knows of no other yet, with a key of its own."""
    path = folder / "keys"
    if not path.exists():
        rotate_seal_keys(path)
    return Seals(SealKeysFile(path))


def test_in_an_upgrade_nothing_is_encrypted_until_every_engine_has_keys(tmp_path: Path) -> None:
    seals = seals_in(tmp_path)
    ours = member("new", seals.numbers)
    seals.follow([ours, member("old")])
    assert (seals.current, without_keys()) == (None, 1)
    seals.follow([ours, member("newer", seals.numbers)])
    assert seals.current is not None
    assert without_keys() == 0


def test_a_row_of_a_member_without_keys_turns_no_encryption_off(tmp_path: Path) -> None:
    seals = seals_in(tmp_path)
    ours = member("new", seals.numbers)
    seals.follow([ours])
    key = seals.current
    assert key is not None
    with capture_logs() as lines:
        for _ in range(3):
            seals.follow([ours, member("forged")])
            assert (seals.current, without_keys()) == (key, 1)
    assert lines == [
        {
            "event": "members_without_seal_keys",
            "log_level": "error",
            "engines": ("forged",),
            "encrypts": True,
        }
    ]


def test_an_engine_that_has_read_what_is_encrypted_encrypts_from_then_on(tmp_path: Path) -> None:
    """Whatever the members' rows said at its start."""
    before, after = seals_in(tmp_path), seals_in(tmp_path)
    before.follow([member("one", before.numbers)])
    snapshot = before.seal_snapshot(TABLE_ID, 1, b"a snapshot")
    after.follow([member("two", after.numbers), member("forged")])
    assert after.current is None
    assert after.open_snapshot(TABLE_ID, 1, snapshot) == b"a snapshot"
    assert after.current == before.current
    after.follow([member("two", after.numbers), member("forged")])
    assert after.current == before.current


async def test_a_seed_that_its_round_is_not_committed_to_is_refused(tmp_path: Path) -> None:
    """Even one that was encrypted with the right key for that place."""
    async with world_sealed(tmp_path) as world:
        await world.open()
        [opened, *_] = await world.journal.stored_rows(TABLE_ID)
        record = journal_pb2.Record.FromString(opened.payload)
        [part] = [part for part in record.sealed if part.key]
        assert world.seal_keys is not None
        [key] = read_seal_keys(world.seal_keys)
        box_key = key_for(key.secret, "seed", TABLE_ID)
        part.box = put_in_box(box_key, b"\x07" * 32, f"{opened.seq} {part.event}")
        await put_payload(world, opened.seq, record.SerializeToString())
        with pytest.raises(SealBroken, match="committed"):
            await world.journal.rows(TABLE_ID)
