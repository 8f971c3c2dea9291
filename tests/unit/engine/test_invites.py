"""Invite codes: 80 random bits, read however they are written, and few wrong tries."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import pytest

from okey.table.config import TableConfig
from okey.table.state import SeatStatus
from okey_runtime.clock import VirtualClock
from okey_runtime.database import Database, DatabaseAway
from services.engine.invite_store import InviteStore
from services.engine.invites import (
    CODE_CHARS,
    TRY_EVERY_MS,
    WRONG_TRIES,
    Invites,
    InviteTriesExhausted,
    InviteWrong,
    Knock,
    WrongTries,
    code_hash,
    new_code,
)
from tests.unit.engine.world import World, until, world_in

TABLE: Final = "t" * 26
WRONG: Final = "0000-0000-0000-0000"


def test_a_code_has_eighty_random_bits() -> None:
    """Sixteen characters of an alphabet of thirty-two, each of which comes at every place."""
    codes = [new_code() for _ in range(2_000)]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}", c) for c in codes)
    places = list(zip(*(code.replace("-", "") for code in codes), strict=True))
    assert [len(set(chars)) for chars in places] == [32] * CODE_CHARS


@pytest.mark.parametrize(
    "written",
    [
        "01AB-01CD-EFGH-JKMN", "01ab01cdefghjkmn", "olAB OiCD EFGH JKMN", " 01AB-01CDEFGHJKMN ",
        "01AB\u201301CD\u2013EFGH\u2013JKMN\n", "01AB\u00a001CD\u00a0EFGH\u00a0JKMN",
        "\u006f\u0130AB-o\u0131CD-EFGH-JKMN",
    ],
)  # fmt: skip
def test_a_code_is_read_however_it_is_written(written: str) -> None:
    assert code_hash(TABLE, written) == code_hash(TABLE, "01AB-01CD-EFGH-JKMN")


def test_a_code_is_one_tables() -> None:
    code = new_code()
    assert code_hash(TABLE, code) != code_hash("u" * 26, code)


def test_wrong_tries_come_back_one_by_one() -> None:
    clock = VirtualClock()
    tries = WrongTries(clock)
    for _ in range(WRONG_TRIES):
        tries.take("anna")
    tries.take("bert")
    with pytest.raises(InviteTriesExhausted) as caught:
        tries.take("anna")
    assert caught.value.retry_after_ms == TRY_EVERY_MS
    clock.advance_ms(TRY_EVERY_MS - 1)
    with pytest.raises(InviteTriesExhausted) as caught:
        tries.take("anna")
    assert caught.value.retry_after_ms == 1
    clock.advance_ms(1)
    tries.take("anna")
    with pytest.raises(InviteTriesExhausted):
        tries.take("anna")


def test_right_codes_cost_no_try() -> None:
    tries = WrongTries(VirtualClock())
    for _ in range(3 * WRONG_TRIES):
        tries.take("anna")
        tries.give_back("anna")


def test_only_so_many_callers_are_remembered() -> None:
    tries = WrongTries(VirtualClock())
    for _ in range(WRONG_TRIES):
        tries.take("anna")
    for number in range(10_000):
        tries.take(f"player-{number}")
    tries.take("anna")  # the oldest is forgotten


CONFIG: Final = TableConfig(TABLE, seat_count=2, is_private=True)


class SlowInvites(InviteStore):
    """The store; away or slow when the test says so."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.is_away = False
        self.is_asked, self.may_answer = asyncio.Event(), asyncio.Event()
        self.may_answer.set()

    async def has(self, table_id: str, code_hash: bytes) -> bool:
        self.is_asked.set()
        await self.may_answer.wait()
        if self.is_away:
            raise DatabaseAway("away, as the test says")
        return await super().has(table_id, code_hash)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with world_in(tmp_path) as running:
        yield running


def invites_of(world: World) -> tuple[Invites, SlowInvites]:
    store = SlowInvites(world.database)
    return Invites(store, world.tables.get, world.steady), store


def knock(player: str, invite: str = "") -> Knock:
    return Knock(player, player, invite)


async def test_many_wrong_tries_at_once_are_all_counted(world: World) -> None:
    """None is looked at while the verdict on the others is out."""
    invites, _ = invites_of(world)
    code = await invites.code_for((await world.open(CONFIG)).table, "anna")
    knocks = [invites.let_in(TABLE, knock("eve", WRONG)) for _ in range(WRONG_TRIES + 20)]
    refusals = await asyncio.gather(*knocks, return_exceptions=True)
    kinds = [type(refusal) for refusal in refusals]
    assert kinds == [InviteWrong] * WRONG_TRIES + [InviteTriesExhausted] * 20
    with pytest.raises(InviteTriesExhausted):
        await invites.let_in(TABLE, knock("eve", code))
    await invites.let_in(TABLE, knock("bert", code))  # only the guesser waits


async def test_a_right_code_is_asked_for_once(world: World) -> None:
    """Whoever came in with it comes again, however many wrong ones it tried meanwhile."""
    invites, store = invites_of(world)
    code = await invites.code_for((await world.open(CONFIG)).table, "anna")
    await invites.let_in(TABLE, knock("bert", code))
    for _ in range(WRONG_TRIES):
        with pytest.raises(InviteWrong):
            await invites.let_in(TABLE, knock("bert", WRONG))
    store.is_away = True
    await invites.let_in(TABLE, knock("bert", code.lower()))
    with pytest.raises(DatabaseAway):
        await invites.let_in(TABLE, knock("carl", code))


@pytest.mark.parametrize(
    "slip", [lambda code: code[:-1], lambda code: code + "7", lambda code: "U" + code[1:]]
)
async def test_a_slip_of_the_hand_costs_no_try(world: World, slip: Callable[[str], str]) -> None:
    """What can be no code is refused with what a code looks like, and is never looked up."""
    invites, store = invites_of(world)
    code = await invites.code_for((await world.open(CONFIG)).table, "anna")
    for _ in range(3 * WRONG_TRIES):
        with pytest.raises(InviteWrong, match="has 16 digits and letters") as refused:
            await invites.let_in(TABLE, knock("bert", slip(code)))
    assert code[:4] not in str(refused.value)
    assert not store.is_asked.is_set()
    await invites.let_in(TABLE, knock("bert", code.lower().replace("-", "\u2013")))


async def test_only_so_many_who_came_in_are_remembered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.engine.invites._KNOWN_KEPT", 2)
    invites, store = invites_of(world)
    code = await invites.code_for((await world.open(CONFIG)).table, "anna")
    for player in ("bert", "carl", "bert", "deniz"):
        await invites.let_in(TABLE, knock(player, code))
    store.is_away = True
    await invites.let_in(TABLE, knock("bert", code))
    with pytest.raises(DatabaseAway):
        await invites.let_in(TABLE, knock("carl", code))


async def test_an_outage_costs_no_try(world: World) -> None:
    invites, store = invites_of(world)
    code = await invites.code_for((await world.open(CONFIG)).table, "anna")
    store.is_away = True
    for _ in range(2 * WRONG_TRIES):
        with pytest.raises(DatabaseAway):
            await invites.let_in(TABLE, knock("bert", code))
    store.is_away = False
    await invites.let_in(TABLE, knock("bert", code))


async def test_a_private_table_without_a_code_lets_nobody_in(world: World) -> None:
    """The engine crashed between the table and its code; the same request makes one."""
    actor = await world.open(CONFIG)
    await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
    await world.crash()
    await world.boot()
    invites, _ = invites_of(world)
    with pytest.raises(InviteWrong):
        await invites.let_in(TABLE, knock("bert", WRONG))
    assert (await invites.let_in(TABLE, knock("anna"))).table.seats == actor.table.seats
    code = await invites.code_for((await world.tables.get(TABLE)).table, "anna")
    await invites.let_in(TABLE, knock("bert", code))


async def test_who_has_left_gets_no_other_code(world: World) -> None:
    invites, _ = invites_of(world)
    actor = await world.open(CONFIG)
    assert await invites.code_for(actor.table, "anna")
    assert await invites.code_for(actor.table, "bert") == ""


async def test_a_table_let_go_while_its_code_is_looked_at_is_found_again(world: World) -> None:
    """Whoever comes in gets the actor that lives, not the one that knew the door."""
    invites, store = invites_of(world)
    before = await world.open(CONFIG)
    # A row that is being written while the table is let go would have it loaded once more.
    await until(before, lambda state: state.seats[0].status is SeatStatus.PAID)
    code = await invites.code_for(before.table, "anna")
    store.may_answer.clear()
    coming = asyncio.ensure_future(invites.let_in(TABLE, knock("bert", code)))
    await store.is_asked.wait()
    after = await world.interventions.release(TABLE)
    assert after is not before
    store.may_answer.set()
    assert await coming is after


def test_a_code_is_in_no_log_line() -> None:
    """What is logged of a knock is its caller."""
    assert "SECRET" not in repr(Knock("anna", "anna", "SECRET"))
