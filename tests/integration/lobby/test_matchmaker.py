"""Quick match pass by pass, on a real Valkey and an engine that holds the truth about seats."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.rules.variant import Mode
from okey_runtime.channel import open_channel
from okey_runtime.clock import VirtualClock
from okey_runtime.errors import RpcFailure
from okey_runtime.identity import Role
from okey_runtime.redis import open_redis
from services.lobby.engine_tables import EngineTables
from services.lobby.matchmaker import Matchmaker
from services.lobby.table_list import RENEWAL_MS, TableList
from services.lobby.terms import Terms
from services.lobby.ticket import Ticket, TicketState
from services.lobby.ticket_store import LEASE_MS, QuickMatchUnavailable, TicketStore
from tests.fixtures.issuer import Issuer
from tests.fixtures.valkey import Valkey
from tests.integration.lobby.fake_engine import (
    FakeEngine,
    InsufficientFunds,
    NoFreeSeat,
    fake_engine,
)

TWO = Terms.of(seat_count=2)
FOUR = Terms.of()
ESLI = Terms.of(mode=Mode.ESLI)
OPEN = f"{'w' * 26}"
FOR_TWO = engine_pb2.OpenTableRequest(
    variant=common_pb2.VARIANT_CANAK,
    mode=common_pb2.MODE_NORMAL,
    seat_count=2,
    stake=50,
    turn_timeout_ms=60_000,
)


class Replica:
    """One lobby's part of quick match."""

    def __init__(self, redis_url: Valkey, engine: EngineTables, clock: VirtualClock) -> None:
        self.redis = open_redis(redis_url.url)
        self.store = TicketStore(self.redis, clock)
        self.tables = TableList(self.redis, engine, clock)
        self.matchmaker = Matchmaker(self.store, self.tables, engine, clock)


class World:
    """Replicas of the lobby around one engine."""

    def __init__(self, engine: FakeEngine, replicas: list[Replica], clock: VirtualClock) -> None:
        self.engine = engine
        self.replicas = replicas
        self.clock = clock
        self.store = replicas[0].store

    async def enqueue(self, *players: str, terms: Terms = TWO) -> None:
        for player in players:
            await self.store.enqueue(player, player.title(), f"ticket-of-{player}", terms)

    async def match(self) -> None:
        """One pass of the first replica."""
        await self.replicas[0].matchmaker.run_once()

    async def renew_list(self) -> None:
        """A fresh copy of the engine's tables, and nobody remembers an older one."""
        valkey = self.replicas[0].redis
        await valkey.delete("okey:{tables}:renewal")
        self.clock.advance_ms(RENEWAL_MS)
        await self.replicas[0].tables.renew_if_due()

    async def ticket(self, player: str) -> Ticket:
        return await self.store.touch(player)

    async def keep_alive(self, *players: str) -> None:
        """Their clients are there."""
        for player in players:
            await self.store.touch(player)

    async def state(self, player: str) -> TicketState:
        return (await self.ticket(player)).state


@pytest.fixture
async def world(valkey: Valkey, tmp_path: Path) -> AsyncIterator[World]:
    issuer, clock = Issuer(tmp_path), VirtualClock()
    async with AsyncExitStack() as stack:
        app, address = await stack.enter_async_context(fake_engine(issuer.jwks_file))
        own = open_channel(address, token=issuer.metadata("lobby-service", Role.LOBBY))
        bare = open_channel(address)
        stack.push_async_callback(own.close)
        stack.push_async_callback(bare.close)
        engine = EngineTables(own, bare)
        replicas = [Replica(valkey, engine, clock) for _ in range(2)]
        for replica in replicas:
            stack.push_async_callback(replica.redis.aclose)
        yield World(app.engine, replicas, clock)


async def test_tickets_that_fit_are_seated_together(world: World) -> None:
    await world.enqueue("ada", "bo", "cem", "deniz", "ece")
    await world.match()
    assert world.engine.sitting() == [["ada", "bo"], ["cem", "deniz"]]
    ada, bo = await world.ticket("ada"), await world.ticket("bo")
    assert (ada.state, ada.seat) == (TicketState.SEATED, 0)
    assert (bo.state, bo.seat) == (TicketState.SEATED, 1)
    assert ada.table_id == bo.table_id
    assert await world.state("ece") is TicketState.WAITING


async def test_the_table_has_the_terms_of_the_tickets(world: World) -> None:
    """Ç0, O2: the terms that the tickets name, defaults filled in."""
    await world.enqueue("ada", "bo", "cem", "deniz", terms=ESLI)
    await world.match()
    (table,) = world.engine.tables.values()
    opened = table.opened_by
    assert (opened.variant, opened.mode, opened.seat_count) == (1, 3, 4)
    assert (opened.stake, opened.turn_timeout_ms, opened.start_points) == (50, 60_000, 0)
    assert table.players == {0: "ada", 1: "bo", 2: "cem", 3: "deniz"}
    assert table.names["cem"] == "Cem"


async def test_other_terms_are_not_mixed(world: World) -> None:
    await world.enqueue("ada")
    await world.enqueue("bo", terms=FOUR)
    await world.match()
    assert world.engine.tables == {}


async def test_who_cannot_pay_drops_out_alone(world: World) -> None:
    """M2: one who cannot pay holds up nobody else; the others keep their place."""
    world.engine.refused["ada"] = InsufficientFunds("too few chips")
    await world.enqueue("ada", "bo", "cem")
    await world.match()
    ada = await world.ticket("ada")
    assert (ada.state, ada.reason) == (TicketState.DROPPED, "INSUFFICIENT_FUNDS")
    assert world.engine.sitting() == [["bo", "cem"]]


async def test_the_seat_of_who_cannot_pay_goes_to_the_next(world: World) -> None:
    """M2: a hole that a refused player leaves is filled by the longest waiting ticket."""
    world.engine.refused["bo"] = InsufficientFunds("too few chips")
    await world.enqueue("ada", "bo", "cem")
    await world.match()
    assert world.engine.sitting() == [["ada"]]
    await world.renew_list()
    await world.match()
    assert world.engine.sitting() == [["ada", "cem"]]
    assert await world.state("bo") is TicketState.DROPPED


async def test_a_waiting_table_with_the_same_terms_is_filled_first(world: World) -> None:
    world.engine.put(OPEN, FOR_TWO, host=1)
    await world.enqueue("ada", "bo")
    await world.renew_list()
    await world.match()
    assert world.engine.tables[OPEN].players == {0: "ada", 1: "host"}
    assert await world.state("bo") is TicketState.WAITING


@pytest.mark.parametrize(
    "change",
    [{"phase": table_pb2.PHASE_PLAYING}, {"kasa": 10}, {"is_quarantined": True}],
    ids=["playing", "kasa stands", "quarantined"],
)
async def test_other_tables_are_left_alone(world: World, change: dict[str, int]) -> None:
    table = world.engine.put(OPEN, FOR_TWO, host=1)
    for name, value in change.items():
        setattr(table, name, value)
    await world.enqueue("ada")
    await world.renew_list()
    await world.match()
    assert table.players == {1: "host"}
    assert await world.state("ada") is TicketState.WAITING


async def test_a_seat_that_was_taken_meanwhile_costs_nobody_the_place(world: World) -> None:
    table = world.engine.put(OPEN, FOR_TWO, host=1)
    await world.renew_list()
    table.players[0] = "quick"
    await world.enqueue("ada", "bo")
    await world.match()
    assert world.engine.sitting() == [["ada", "bo"], ["host", "quick"]]


async def test_a_table_is_tried_once_with_the_same_copy_of_the_list(world: World) -> None:
    world.engine.put(OPEN, FOR_TWO, host=1)
    await world.renew_list()
    world.engine.refused["ada"] = NoFreeSeat("full")
    await world.enqueue("ada")
    await world.match()
    del world.engine.refused["ada"]
    await world.match()
    assert await world.state("ada") is TicketState.WAITING
    await world.renew_list()
    await world.match()
    assert await world.state("ada") is TicketState.SEATED


async def test_who_sits_elsewhere_is_led_back(world: World) -> None:
    """W3: a player of a running match is led back to it, and nobody sits twice."""
    world.engine.put(OPEN, FOR_TWO, bo=1, host=0)
    await world.enqueue("ada", "bo", "cem")
    await world.match()
    bo = await world.ticket("bo")
    assert (bo.state, bo.table_id, bo.seat) == (TicketState.SEATED, OPEN, 1)
    await world.renew_list()
    await world.match()
    assert world.engine.sitting() == [["ada", "cem"], ["bo", "host"]]


async def test_a_lost_reply_seats_nobody_twice(world: World) -> None:
    """The outcome is looked up at the engine once the claim's lease is over."""
    world.engine.lost_replies = {"bo"}
    await world.enqueue("ada", "bo")
    await world.match()
    assert await world.state("bo") is TicketState.SEATING
    world.engine.is_away, world.engine.lost_replies = False, set()
    world.clock.advance_ms(LEASE_MS)
    await world.match()
    bo = await world.ticket("bo")
    assert (bo.state, bo.seat) == (TicketState.SEATED, 1)
    assert world.engine.sitting() == [["ada", "bo"]]


async def test_a_twin_of_a_table_is_not_made(world: World) -> None:
    """A table whose making timed out is found again, not made twice."""
    world.engine.lost_replies = {"ada"}
    await world.enqueue("ada", "bo")
    await world.match()
    assert await world.state("ada") is TicketState.SEATING
    assert await world.state("bo") is TicketState.WAITING
    world.engine.is_away, world.engine.lost_replies = False, set()
    world.clock.advance_ms(LEASE_MS)
    await world.keep_alive("ada", "bo")
    await world.renew_list()
    await world.match()
    assert world.engine.sitting() == [["ada", "bo"]]


async def test_a_dead_replicas_claim_waits_again(world: World) -> None:
    await world.enqueue("ada", "bo")
    assert len(await world.store.claim(TWO, at_least=2, at_most=2)) == 2
    await world.match()
    assert world.engine.tables == {}
    world.clock.advance_ms(LEASE_MS)
    await world.keep_alive("ada", "bo")
    await world.match()
    assert world.engine.sitting() == [["ada", "bo"]]


async def test_a_replica_whose_lease_is_over_seats_nobody(world: World) -> None:
    world.engine.put(OPEN, FOR_TWO, host=1)
    await world.enqueue("ada")
    (claim,) = await world.store.claim(TWO, at_least=1, at_most=1)
    world.clock.advance_ms(LEASE_MS)
    await world.replicas[0].matchmaker.seat(claim, OPEN)
    assert world.engine.where("ada") is None


async def test_an_engine_that_is_away_loses_no_ticket(world: World) -> None:
    world.engine.is_away = True
    await world.enqueue("ada", "bo", "cem", "deniz")
    await world.match()
    world.clock.advance_ms(LEASE_MS)
    await world.keep_alive("ada", "bo", "cem", "deniz")
    with pytest.raises(RpcFailure):
        await world.match()
    world.engine.is_away = False
    world.clock.advance_ms(LEASE_MS)
    await world.keep_alive("ada", "bo", "cem", "deniz")
    await world.match()
    assert world.engine.sitting() == [["ada", "bo"], ["cem", "deniz"]]


async def test_two_replicas_at_once_seat_everybody_once(world: World) -> None:
    players = [f"player{number:02d}" for number in range(40)]
    await world.enqueue(*players)
    await asyncio.gather(*(replica.matchmaker.run_once() for replica in world.replicas))
    seated = [name for table in world.engine.sitting() for name in table]
    assert sorted(seated) == players
    assert all(len(table) == 2 for table in world.engine.sitting())


async def test_without_redis_a_pass_says_so(world: World, valkey: Valkey) -> None:
    valkey.kill()
    with pytest.raises(QuickMatchUnavailable):
        await world.match()
