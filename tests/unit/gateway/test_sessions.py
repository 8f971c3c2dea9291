"""How many connections there may be, and how they are sent away."""

import asyncio
from contextlib import ExitStack

import pytest

from services.gateway.outbox import Outbox
from services.gateway.sessions import ConnectionsExhausted, Sessions


def test_the_process_and_each_player_have_so_many() -> None:
    sessions = Sessions(3, 2, 0)
    with ExitStack() as held:
        for _ in range(5):
            held.enter_context(sessions.entered(Outbox(8)))
        for player in ("ada", "ada"):
            held.enter_context(sessions.owned_by(player))
        with pytest.raises(ConnectionsExhausted, match="a player may have 2"):
            held.enter_context(sessions.owned_by("ada"))
        held.enter_context(sessions.owned_by("bob"))
        with pytest.raises(ConnectionsExhausted, match="this gateway has 3"):
            held.enter_context(sessions.owned_by("cem"))
    with sessions.entered(Outbox(8)), sessions.owned_by("ada"):
        assert len(sessions) == 1


async def test_a_drain_sends_everybody_away_each_at_a_moment_of_its_own() -> None:
    chances = iter([0.25, 1.0, 0.5])
    sessions = Sessions(8, 8, 4_000, lambda: next(chances))
    first, second, late = Outbox(8), Outbox(8), Outbox(8)
    with ExitStack() as held:
        for outbox in (first, second):
            held.enter_context(sessions.entered(outbox))
        draining = asyncio.create_task(sessions.drain())
        await asyncio.sleep(0)
        # One that has just come in is sent away too.
        held.enter_context(sessions.entered(late))
        assert not draining.done()
    await draining
    told = [each.ending.retry_after_ms for each in (first, second, late) if each.ending]
    assert sorted(filter(None, told)) == [1_000, 2_000, 4_000]
