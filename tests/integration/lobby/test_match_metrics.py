"""What Prometheus reads of quick match: queues, waits, matches and drop-outs, by their values."""

from collections.abc import Callable

import pytest

from services.lobby.terms import Terms
from tests.integration.lobby.match_world import ESLI, FOUR, OPEN, World, world
from tests.metrics import sample

__all__ = ["world"]

FOR_TWO = {"variant": "canak", "mode": "normal", "seats": "2"}
FOR_FOUR = FOR_TWO | {"seats": "4"}
FOR_ESLI = FOR_FOUR | {"mode": "esli"}


def shown(name: str, **labels: str) -> float:
    return sample(f"okey_lobby_{name}", **labels)


def since_now(name: str, **labels: str) -> Callable[[], float]:
    """By how much it has grown from here on; it counts over all tests of a process."""
    before = shown(name, **labels)
    return lambda: shown(name, **labels) - before


async def test_each_queue_has_its_length_until_it_is_empty(world: World) -> None:
    await world.enqueue("ada", "bo", "cem", terms=FOUR)
    await world.enqueue("deniz", terms=ESLI)
    await world.enqueue("ece")
    await world.match()
    lengths = [shown("queue_length", **labels) for labels in (FOR_FOUR, FOR_ESLI, FOR_TWO)]
    assert lengths == [3, 1, 1]
    await world.enqueue("filiz")
    await world.match()
    await world.store.cancel("ada")
    await world.match()
    lengths = [shown("queue_length", **labels) for labels in (FOR_FOUR, FOR_ESLI, FOR_TWO)]
    assert lengths == [2, 1, 0]


async def test_buckets_that_differ_in_their_stake_are_told_together(world: World) -> None:
    """Stakes and turn times are no labels: they would be too many."""
    await world.enqueue("ada")
    await world.enqueue("bo", terms=Terms.of(seat_count=2, stake=500))
    await world.match()
    assert shown("queue_length", **FOR_TWO) == 2


async def test_each_seated_ticket_tells_its_wait_in_seconds(world: World) -> None:
    waits = since_now("wait_seconds_sum", **FOR_TWO)
    tickets = since_now("wait_seconds_count", **FOR_TWO)
    within_2_s = since_now("wait_seconds_bucket", **FOR_TWO, le="2.0")
    seated = since_now("tickets_seated_total")
    await world.enqueue("ada")
    await world.wait(3_000)
    await world.enqueue("bo")
    await world.wait(500)
    await world.match()
    assert waits() == pytest.approx(4.0)
    assert (tickets(), within_2_s(), seated()) == (2, 1, 2)


@pytest.mark.parametrize("kind", ["new_table", "waiting_table", "with_bots"])
async def test_a_match_is_counted_once_by_its_kind(world: World, kind: str) -> None:
    kinds = ("new_table", "waiting_table", "with_bots")
    counts = {each: since_now("matches_total", **FOR_TWO, kind=each) for each in kinds}
    match kind:
        case "new_table":
            await world.enqueue("ada", "bo")
        case "waiting_table":
            world.put(OPEN, host=1)
            await world.enqueue("ada")
        case "with_bots":
            await world.wish("ada", fill_ms=5_000)
    await world.match()
    assert {each: count() for each, count in counts.items()} == dict.fromkeys(kinds, 0) | {kind: 1}


async def test_who_drops_out_is_counted_by_the_reason_and_no_match_is(world: World) -> None:
    dropped = since_now("tickets_dropped_total", reason="INSUFFICIENT_FUNDS")
    taken_back = since_now("groups_taken_back_total")
    matches = since_now("matches_total", **FOR_FOUR, kind="new_table")
    seated = since_now("tickets_seated_total")
    world.tables.chips["cem"] = 0
    await world.enqueue("ada", "bo", "cem", "deniz", terms=FOUR)
    await world.match()
    assert (dropped(), taken_back(), matches(), seated()) == (1, 1, 0, 0)
