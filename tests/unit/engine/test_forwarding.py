"""Calls that are passed on find the table's engine, however old the board that is known."""

import asyncio
import gc
import weakref
from collections.abc import Callable, Iterator, Mapping
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
from services.engine.shards import Board
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


class CountedMembers(MemoryMembers):
    """Tells its world of each look at the board."""

    def __init__(self, world: "World", clock: Callable[[], int]) -> None:
        super().__init__(clock)
        self._world = world

    async def board(self) -> Board:
        self._world.looks.put_nowait(None)
        return await super().board()


class World:
    """This engine, which knows the board as it was once, and two others that answer as planned."""

    def __init__(self) -> None:
        clock = SystemClock()
        self.members = CountedMembers(self, clock.now_ms)
        self.looks: asyncio.Queue[None] = asyncio.Queue()
        self.ownership = Ownership("here", clock, 6_000)
        self.asked: list[str] = []
        self.refusals: list[weakref.ref[grpc.aio.AioRpcError]] = []
        self.answers: Mapping[str, OkeyError | str | None] = {}
        self.hanging: dict[str, asyncio.Event] = {}
        self.is_waited_for = asyncio.Event()
        self.is_ours = False
        self.was_forwarded = False
        routes = Routes(self.members, clock, self._look)
        self._forwarding = Forwarding(self.ownership, routes, cast("Peers", self), 0.01)

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
        if name in self.hanging:
            self.is_waited_for.set()
            await self.hanging[name].wait()
        answer = self.answers[name]
        if isinstance(answer, str):
            return answer
        refusal = refused(answer)
        self.refusals.append(weakref.ref(refusal))
        try:
            raise refusal
        finally:
            del refusal

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


class Answer(str):
    """What another engine answers; one can ask whether it is still kept."""


@pytest.fixture
def no_collector() -> Iterator[None]:
    """The collector looks seldom, so what only it frees piles up."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
async def test_an_answer_that_was_passed_on_is_not_kept(world: World) -> None:
    answer = Answer("moved")
    gone = weakref.ref(answer)
    world.answers = {"second": answer}
    assert await world.ask() == "moved"
    world.answers = {}
    del answer
    await asyncio.sleep(0)
    assert gone() is None


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("said", [not_mine("third"), EngineStopping("stopping"), None])
async def test_a_refusal_that_healed_is_not_kept(world: World, said: OkeyError | None) -> None:
    await world.give("third")
    answer = Answer("moved")
    gone = weakref.ref(answer)
    world.answers = {"second": said, "third": answer}
    assert await world.ask() == "moved"
    world.answers = {}
    del answer
    await asyncio.sleep(0)
    assert gone() is None
    assert [each for each in world.refusals if each() is not None] == []


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


async def test_an_owner_that_hangs_is_waited_for_while_it_has_the_table(world: World) -> None:
    """Another one has it once its lease has ended; until then it may yet answer."""
    world.hanging = {"second": asyncio.Event()}
    world.answers = {"second": "late", "third": "taken over"}
    asking = asyncio.create_task(world.ask())
    await world.is_waited_for.wait()
    await world.give("third")
    assert await asyncio.wait_for(asking, 5) == "taken over"
    assert world.asked == ["second", "third"]


async def test_an_owner_that_is_slow_is_waited_for(world: World) -> None:
    world.hanging = {"second": asyncio.Event()}
    world.answers = {"second": "late"}
    asking = asyncio.create_task(world.ask())
    await world.is_waited_for.wait()
    while not world.looks.empty():
        world.looks.get_nowait()
    await world.looks.get()
    await world.looks.get()
    world.hanging["second"].set()
    assert await asyncio.wait_for(asking, 5) == "late"
    assert world.asked == ["second"]


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
