"""Distances and improving tiles against trying: every exchange, every draw, every discard."""

from collections.abc import Iterable
from itertools import islice

import pytest

from okey.bots.evaluate import Goal, best_discards, distance_to, evaluate
from okey.rules.distance import (
    cift_distance,
    distance_to_cift,
    distance_to_normal,
    is_within,
)
from okey.rules.faces import faces_of
from okey.rules.hand import Form, classify
from okey.rules.tile import FULL_SET, Tile, rack_text
from tests import oracle, plain
from tests.unit.rules.hand_maker import Hand, hands, labelled_hands

pytestmark = pytest.mark.deep

ALL_UNSEEN = (0, *(2 for _tile in Tile))


def without_okeys(made: Iterable[Hand]) -> Iterable[Hand]:
    return ((tiles, okey) for tiles, okey in made if okey not in tiles)


def named(tiles: Iterable[Tile], okey: Tile) -> str:
    return f"{rack_text(tiles)} okey {okey}"


def wrongly_near(made: Iterable[Hand], exchanges: int) -> list[str]:
    """The hands whose distance says anything else than trying all sets of so many exchanges."""
    found = []
    for tiles, okey in made:
        _none, faces = oracle.split(tiles, okey)
        is_near = plain.is_won_by_exchanging(faces, exchanges)
        if is_near != (distance_to_normal(tiles, okey) <= exchanges):
            found.append(named(tiles, okey))
    return found


def wrongly_improved(made: Iterable[Hand]) -> list[str]:
    """The hands whose improving tiles are not those that trying all 53 finds."""
    found = []
    for tiles, okey in made:
        normal, cift = distance_to_normal(tiles, okey), distance_to_cift(tiles, okey)
        drawn = [(tile, faces_of((*tiles, tile), okey, (15,))) for tile in Tile]
        to_normal = {tile for tile, faces in drawn if is_within(faces, normal - 1)}
        to_cift = {tile for tile, faces in drawn if cift_distance(faces) < cift}
        nearer = {
            Goal.NORMAL: to_normal if normal else set(),
            Goal.CIFT: to_cift,
            Goal.EITHER: (to_normal if 0 < normal <= cift else set())
            | (to_cift if cift <= normal else set()),
        }
        for goal, expected in nearer.items():
            if set(evaluate(tiles, okey, goal, ALL_UNSEEN).improving) != expected:
                found.append(f"{named(tiles, okey)} {goal.name}")
    return found


def wrongly_discarded(made: Iterable[Hand], goal: Goal) -> list[str]:
    """The racks, of these hands and one tile more, whose best discards trying all contradicts."""
    found = []
    for index, (tiles, okey) in enumerate(made):
        rack = (*tiles, FULL_SET[index % len(FULL_SET)])
        fourteens = {tile: list(rack) for tile in rack}
        for tile, rest in fourteens.items():
            rest.remove(tile)
        least = min(distance_to(rest, okey, goal) for rest in fourteens.values())
        expected = {
            tile: evaluate(rest, okey, goal, ALL_UNSEEN)
            for tile, rest in fourteens.items()
            if distance_to(rest, okey, goal) == least
        }
        options = best_discards(rack, okey, goal, ALL_UNSEEN)
        copies = [option.rest.copies for option in options]
        if {option.tile: option.rest for option in options} != expected or copies != sorted(
            copies, reverse=True
        ):
            found.append(named(rack, okey))
    return found


def test_the_labelled_hands_are_won_at_distance_0_alone() -> None:
    """H2: and so the plain judge says, who may then say what is right elsewhere."""
    for tiles, okey in labelled_hands():
        is_won = Form.NORMAL in classify(tiles, okey)
        assert (distance_to_normal(tiles, okey) == 0) == is_won, named(tiles, okey)
        assert plain.is_normal(tiles, okey) == is_won, named(tiles, okey)


def test_one_exchange_is_enough_where_the_distance_says_so() -> None:
    """H2: every tile of 200 hands without okeys exchanged for every face."""
    made = list(islice(without_okeys(hands(seed=61, count=500)), 200))
    near = [hand for hand in made if distance_to_normal(*hand) == 1]
    assert len(made) == 200
    assert 20 < len(near) < 180
    assert wrongly_near(made, exchanges=1) == []


def test_two_exchanges_are_enough_where_the_distance_says_so() -> None:
    """H2: every two tiles of five hands without okeys, four of which are near."""
    made = [hand for hand in without_okeys(hands(seed=62, count=200)) if distance_to_normal(*hand)]
    two = [hand for hand in made if distance_to_normal(*hand) == 2]
    three = [hand for hand in made if distance_to_normal(*hand) == 3]
    assert wrongly_near([*two[:4], *three[:1]], exchanges=2) == []


def test_improving_tiles_are_those_that_trying_finds() -> None:
    """H2, H5, T5, T6: 2,000 hands of all kinds."""
    assert wrongly_improved(hands(seed=63, count=2_000)) == []


def test_improving_tiles_of_the_labelled_hands_are_those_that_trying_finds() -> None:
    """H2, H5, T5, T6: all lines of tests/data/hands.jsonl."""
    assert wrongly_improved(labelled_hands()) == []


@pytest.mark.parametrize("goal", Goal)
def test_best_discards_are_those_that_trying_finds(goal: Goal) -> None:
    """H7: every tile of 100 racks given away."""
    assert wrongly_discarded(hands(seed=64, count=100), goal) == []


@pytest.mark.long
def test_one_exchange_is_enough_on_the_labelled_hands() -> None:
    """H2: those without okeys."""
    assert wrongly_near(without_okeys(labelled_hands()), exchanges=1) == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_one_exchange_is_enough_on_many_hands(part: int) -> None:
    """H2: 20,000 hands without okeys, in parts."""
    made = list(islice(without_okeys(hands(seed=20_000 + part, count=2_500)), 1_000))
    assert len(made) == 1_000
    assert wrongly_near(made, exchanges=1) == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_two_exchanges_are_enough_on_many_hands(part: int) -> None:
    """H2: 500 hands without okeys, in parts."""
    made = list(islice(without_okeys(hands(seed=500 + part, count=100)), 25))
    assert len(made) == 25
    assert wrongly_near(made, exchanges=2) == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(40))
def test_improving_tiles_are_those_that_trying_finds_on_many_hands(part: int) -> None:
    """H2, H5, T5, T6: 100,000 hands, in parts."""
    assert wrongly_improved(hands(seed=200_000 + part, count=2_500)) == []


@pytest.mark.long
@pytest.mark.parametrize("goal", Goal)
def test_best_discards_are_those_that_trying_finds_on_many_hands(goal: Goal) -> None:
    """H7: 5,000 racks for each goal."""
    assert wrongly_discarded(hands(seed=300_000, count=5_000), goal) == []
