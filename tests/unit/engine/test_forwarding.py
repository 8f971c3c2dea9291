"""Calls that are passed on find the table's engine, however old the board that is known."""

from collections.abc import Mapping
from typing import cast

import grpc
import pytest

from okey.errors import OkeyError
from okey_runtime.clock import SystemClock
from okey_runtime.errors import STATUS_DETAILS_KEY, to_status
from services.engine.errors import EngineStopping, NotOwner, OwnerAway
from services.engine.forwarding import Call, Forwarding
from services.engine.members import Myself
from services.engine.ownership import Ownership
from services.engine.peers import Peers
from services.engine.routes import Routes
from tests.members import MemoryMembers

TABLE = "t" * 26
NAMES = ("here", "second", "third")


def me(name: str) -> Myself:
    return Myself(name, f"{name}:1", "1", frozenset())


def refused(error: OkeyError | None) -> grpc.aio.AioRpcError:
    """What the call of an engine that answers so raises; None for one that is not there."""
    trailing = grpc.aio.Metadata()
    if error is not None:
        status = to_status(error)
        assert status is not None
        trailing.add(STATUS_DETAILS_KEY, status.SerializeToString())
    return grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), trailing)


class World:
    """This engine, which knows the board as it was once, and two others that answer as planned."""

    def __init__(self) -> None:
        clock = SystemClock()
        self.members = MemoryMembers(clock.now_ms)
        self.ownership = Ownership("here", clock, 6_000)
        self.asked: list[str] = []
        self.answers: Mapping[str, OkeyError | str | None] = {}
        self.is_ours = False
        self.was_forwarded = False
        routes = Routes(self.members, clock, self._look)
        self._forwarding = Forwarding(self.ownership, routes, cast("Peers", self))

    async def start(self) -> None:
        for name in NAMES:
            await self.members.join(me(name))
        for name in NAMES[1:]:
            await self.members.renew(me(name), 0)
        await self.give("second")
        self.ownership.follow(await self.members.board())

    async def give(self, to: str) -> None:
        """The table is that engine's now, which this one has not seen yet."""
        board = await self.members.board()
        for name in NAMES:
            await self.members.hand_over(me(name), board.shards_of(name), to, 0)

    def bare(self, address: str) -> str:
        return address

    async def ask(self) -> str:
        return await self._forwarding.answer(cast("Call", self), self._serve)

    # As a call that came -------------------------------------------------------------------------

    table_id = TABLE

    async def make(self, channel: str, engine: str) -> str:
        assert engine == "here"
        name = channel.removesuffix(":1")
        self.asked.append(name)
        answer = self.answers[name]
        if isinstance(answer, str):
            return answer
        raise refused(answer)

    async def _serve(self) -> str:
        if self.is_ours:
            return "served here"
        raise self.ownership.not_owner(TABLE)

    async def _look(self) -> None:
        self.is_ours = True


def not_mine(owner: str) -> NotOwner:
    return NotOwner(TABLE, owner, f"{owner}:1")


@pytest.fixture
async def world() -> World:
    made = World()
    await made.start()
    return made


@pytest.mark.parametrize("said", [not_mine("third"), EngineStopping("stopping"), None])
async def test_an_old_route_heals_in_one_retry(world: World, said: OkeyError | None) -> None:
    """The owner has just lost the table, leaves, or is dead: the database says who has it."""
    await world.give("third")
    world.answers = {"second": said, "third": "moved"}
    assert await world.ask() == "moved"
    assert world.asked == ["second", "third"]


async def test_a_table_that_came_here_this_moment_is_served_here(world: World) -> None:
    await world.give("here")
    world.answers = {"second": not_mine("here")}
    assert await world.ask() == "served here"
    assert world.asked == ["second"]


async def test_a_table_that_everybody_has_seen_elsewhere_is_not_looked_for_for_ever(
    world: World,
) -> None:
    """The caller is told, and asks again."""
    world.answers = {"second": not_mine("third")}
    with pytest.raises(NotOwner):
        await world.ask()
    assert world.asked == ["second"] * 3


async def test_an_owner_that_does_not_answer_twice_is_away(world: World) -> None:
    """Its lease has not ended: nobody else can have the table."""
    world.answers = {"second": None}
    with pytest.raises(OwnerAway):
        await world.ask()
    assert world.asked == ["second"] * 2


async def test_a_dead_owner_is_not_asked(world: World) -> None:
    world.members.kill("second")
    world.ownership.follow(await world.members.board())
    with pytest.raises(NotOwner):
        await world.ask()
    assert world.asked == []


async def test_a_call_that_was_passed_on_is_not_passed_on_again(world: World) -> None:
    """One hop, so that two old boards send no call round in a circle."""
    world.was_forwarded = True
    with pytest.raises(NotOwner) as refusal:
        await world.ask()
    assert refusal.value.address == "second:1"
    assert world.asked == []
