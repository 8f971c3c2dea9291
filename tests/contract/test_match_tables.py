"""What quick match relies on at tables, shown for the engine with its wallet, and for the tables in
memory that other tests play with.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Protocol

import pytest

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Mode
from okey_runtime.channel import open_channel
from okey_runtime.identity import Role
from services.lobby.engine_seats import IDEMPOTENT, EngineSeats
from services.lobby.engine_tables import Sitting
from services.lobby.match_tables import (
    Look,
    MatchTables,
    NoRoom,
    Refused,
    Sits,
    SitsElsewhere,
    players_of,
)
from services.lobby.terms import Terms
from tests.fixtures.match_tables import CHIPS, MemoryTables
from tests.integration.engine.platform import platform, view_in

TWO = Terms.of(seat_count=2, stake=100)
FOUR = Terms.of(stake=100)
NOWHERE = "z" * 26


class World(Protocol):
    """Tables, and the chips of those who sit there."""

    tables: MatchTables

    async def chips(self, player: str) -> int: ...

    async def make_poor(self, player: str) -> None: ...

    async def begin(self, table_id: str) -> None:
        """Return once the match of the full table runs."""
        ...


class InMemory:
    def __init__(self) -> None:
        self.memory = MemoryTables()
        self.tables: MatchTables = self.memory

    async def chips(self, player: str) -> int:
        return self.memory.chips.get(player, CHIPS)

    async def make_poor(self, player: str) -> None:
        self.memory.chips[player] = 0

    async def begin(self, table_id: str) -> None:
        self.memory.start_full_tables()


class AtEngine:
    def __init__(
        self,
        tables: EngineSeats,
        engine: engine_pb2_grpc.TableServiceStub,
        wallet: wallet_pb2_grpc.WalletServiceStub,
    ) -> None:
        self.tables: MatchTables = tables
        self._engine = engine
        self._wallet = wallet

    async def chips(self, player: str) -> int:
        request = wallet_pb2.GetAccountRequest(account=f"player:{player}")
        return (await self._wallet.GetAccount(request)).balance

    async def make_poor(self, player: str) -> None:
        """All its chips are held for a seat elsewhere."""
        await self._wallet.HoldStake(
            wallet_pb2.HoldStakeRequest(
                idempotency_key=f"poor-{player}",
                hold_id=f"{NOWHERE}-1-0-1",
                table_id=NOWHERE,
                match_id=f"{NOWHERE}-1",
                player_id=player,
                stake=CHIPS,
                rules_version=DEFAULT_RULE_SET.version,
            )
        )

    async def begin(self, table_id: str) -> None:
        request = engine_pb2.WatchTableRequest(table_id=table_id, with_view=True)
        async for message in self._engine.WatchTable(request):
            if view_in(message).phase == table_pb2.PHASE_PLAYING:
                return


@pytest.fixture(params=["memory", "engine"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    if request.param == "memory":
        yield InMemory()
        return
    async with platform(tmp_path, clock_factor=10) as running:
        own = open_channel(
            running.engine_address,
            token=running.issuer.metadata("lobby-service", Role.LOBBY, to="engine"),
            idempotent=IDEMPOTENT,
        )
        engine = engine_pb2_grpc.TableServiceStub(own)
        as_engine = await running.channel("engine-service", Role.ENGINE, to="wallet")
        wallet = wallet_pb2_grpc.WalletServiceStub(as_engine)
        yield AtEngine(EngineSeats(own), engine, wallet)
        await own.close()


async def opened(world: World, player: str = "ada", terms: Terms = TWO) -> str:
    made = await world.tables.open(f"quick-{player}", player, player.title(), terms, 0)
    assert isinstance(made, Sits)
    assert (made.seat, made.is_paid) == (0, True)
    return made.table_id


async def looked(world: World, table_id: str) -> Look:
    look = await world.tables.look(table_id)
    assert isinstance(look, Look)
    return look


async def test_who_opens_a_table_has_seat_0_and_pays_for_it(world: World) -> None:
    """W1, M1: the maker takes seat 0, and the stake is held."""
    table_id = await opened(world)
    look = await looked(world, table_id)
    assert look.is_open
    assert [(chair.seat, chair.player, chair.is_paid) for chair in look.chairs] == [
        (0, "ada", True)
    ]
    assert await world.chips("ada") == CHIPS - 100


async def test_the_same_request_makes_one_table_and_takes_one_seat(world: World) -> None:
    """M5: whatever is sent twice takes effect once."""
    table_id = await opened(world)
    assert await opened(world) == table_id
    for _ in range(2):
        taken = await world.tables.take(table_id, "quick-bo", "bo", "Bo", 1)
        assert isinstance(taken, Sits)
        assert (taken.seat, taken.is_paid) == (1, True)
    assert await world.chips("bo") == CHIPS - 100
    assert players_of((await looked(world, table_id)).chairs) == ["ada", "bo"]


async def test_a_chosen_seat_is_that_seat(world: World) -> None:
    """O2: partners sit opposite, so the seat counts."""
    table_id = await opened(world, terms=Terms.of(mode=Mode.ESLI, stake=100))
    taken = await world.tables.take(table_id, "quick-bo", "bo", "Bo", 3)
    assert isinstance(taken, Sits)
    assert taken.seat == 3
    assert isinstance(await world.tables.take(table_id, "quick-cem", "cem", "Cem", 3), NoRoom)


async def test_nobody_sits_twice(world: World) -> None:
    """W3: one seat a player, and it is told where."""
    table_id = await opened(world)
    assert await world.tables.open("quick-again", "ada", "Ada", TWO, 0) == SitsElsewhere(table_id)
    other = await opened(world, "bo")
    answer = await world.tables.take(other, "quick-other", "ada", "Ada", 1)
    assert answer == SitsElsewhere(table_id)


@pytest.mark.parametrize("how", ["open", "take"])
async def test_who_cannot_pay_is_refused_with_the_reason(world: World, how: str) -> None:
    """M2: one who cannot pay holds up nobody, and no table is left behind."""
    await world.make_poor("ada")
    table_id = await opened(world, "bo")
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        "open": lambda: world.tables.open("quick-poor", "ada", "Ada", TWO, 0),
        "take": lambda: world.tables.take(table_id, "quick-poor", "ada", "Ada", 1),
    }
    assert await asked[how]() == Refused("INSUFFICIENT_FUNDS")
    assert players_of((await looked(world, table_id)).chairs) == ["bo"]


async def test_leaving_gives_the_stake_back_and_may_be_said_twice(world: World) -> None:
    """M1: leaving before the match costs nothing."""
    table_id = await opened(world, terms=FOUR)
    await world.tables.take(table_id, "quick-bo", "bo", "Bo", 1)
    for _ in range(2):
        assert await world.tables.leave(table_id, "quick-back", "bo") is None
    assert players_of((await looked(world, table_id)).chairs) == ["ada"]
    while await world.chips("bo") < CHIPS:
        pass  # the wallet is told after the table
    assert await world.tables.leave(table_id, "quick-back", "cem") is None


async def test_a_table_that_everybody_has_left_is_closed_for_good(world: World) -> None:
    """Ç10: nobody sits down at a closed table, however late the request comes."""
    table_id = await opened(world)
    assert await world.tables.leave(table_id, "quick-back", "ada") is None
    assert await world.tables.look(table_id) is None
    assert isinstance(await world.tables.take(table_id, "quick-bo", "bo", "Bo", 1), NoRoom)
    assert await world.tables.leave(table_id, "quick-back-2", "ada") is None
    again = await world.tables.open("quick-ada", "ada", "Ada", TWO, 0)
    assert isinstance(again, Sits)
    assert (again.table_id, await world.tables.look(table_id)) == (table_id, None)


async def test_who_left_when_all_had_paid_is_not_let_in_again(world: World) -> None:
    """W2: leaving in the count-down is for good, so nobody keeps a table from starting for ever."""
    table_id = await opened(world)
    await world.tables.take(table_id, "quick-bo", "bo", "Bo", 1)
    assert await world.tables.leave(table_id, "quick-back", "bo") is None
    answer = await world.tables.take(table_id, "quick-again", "bo", "Bo", 1)
    assert answer == NoRoom("LEFT_BEFORE_START", is_for_good=True)


async def test_a_table_that_never_was_has_no_room(world: World) -> None:
    assert await world.tables.look(NOWHERE) is None
    assert isinstance(await world.tables.take(NOWHERE, "quick-ada", "ada", "Ada", 0), NoRoom)
    assert await world.tables.leave(NOWHERE, "quick-back", "ada") is None


async def test_who_is_in_a_running_match_keeps_the_seat(world: World) -> None:
    """W2: once the match runs nobody is taken out of it, and nobody gets in."""
    table_id = await opened(world)
    await world.tables.take(table_id, "quick-bo", "bo", "Bo", 1)
    await world.begin(table_id)
    assert await world.tables.leave(table_id, "quick-back", "bo") == Sits(table_id, 1, True)
    look = await looked(world, table_id)
    assert not look.is_open
    assert [(chair.player, chair.is_paid) for chair in look.chairs] == [("ada", True), ("bo", True)]
    answer = await world.tables.take(table_id, "quick-cem", "cem", "Cem", 1)
    assert answer == NoRoom("SEATS_NOT_OPEN")
    assert isinstance(await world.tables.take(table_id, "quick-bo", "bo", "Bo", 1), Sits)


async def test_where_a_player_sits_is_told(world: World) -> None:
    """W3: of any player, so that it can be led back there."""
    made = await world.tables.open("request-1", "ada", "Ada", FOUR, 0)
    assert isinstance(made, Sits)
    await world.tables.take(made.table_id, "request-2", "bo", "Bo", 2)
    assert await world.tables.seat_of("ada") == Sitting(made.table_id, 0)
    assert await world.tables.seat_of("bo") == Sitting(made.table_id, 2)
    assert await world.tables.seat_of("cem") is None
    await world.tables.leave(made.table_id, "request-3", "bo")
    assert await world.tables.seat_of("bo") is None
