"""Groups of one number."""

import pytest

from okey.rules.faces import Vectors
from okey.rules.fits import point
from okey.rules.groups import (
    GroupChoice,
    numbers_to_group,
    numbers_to_group_in_any_way,
    numbers_with_complete_groups,
)

RED, YELLOW, BLUE, BLACK = range(4)


def counts(red: int, yellow: int, blue: int, black: int) -> Vectors:
    """So many 1s of each colour."""
    return (red, yellow, blue, black)


def choices_of(held: tuple[int, int, int, int]) -> tuple[GroupChoice, ...]:
    numbers = numbers_to_group(counts(*held))
    return numbers[0][1] if numbers else ()


@pytest.mark.parametrize(
    ("held", "groups"),
    [
        ((2, 0, 0, 0), set()),  # one colour twice is no group
        ((1, 1, 0, 0), {((RED, YELLOW),)}),
        ((2, 1, 0, 0), {((RED, YELLOW),)}),
        ((1, 0, 1, 1), {((RED, BLUE, BLACK),)}),
        (
            (1, 1, 1, 1),
            {
                ((RED, YELLOW, BLUE, BLACK),),
                ((RED, YELLOW, BLUE),),
                ((RED, YELLOW, BLACK),),
                ((RED, BLUE, BLACK),),
                ((YELLOW, BLUE, BLACK),),
            },
        ),
        ((2, 2, 0, 0), {((RED, YELLOW),), ((RED, YELLOW), (RED, YELLOW))}),
    ],
)
def test_choices_of_groups(
    held: tuple[int, int, int, int], groups: set[tuple[tuple[int, ...], ...]]
) -> None:
    """H4: different colours only; each group takes every colour that it can, or three of four."""
    assert {choice.groups for choice in choices_of(held)} == groups


def test_a_choice_says_what_it_uses_up() -> None:
    """H2, H4: a group of two keeps two tiles on three places."""
    (pair,) = choices_of((2, 0, 0, 1))
    assert (pair.kept, pair.places, pair.used) == (2, 3, (1, 0, 0, 1))


def test_choices_come_with_their_points_and_the_best_last() -> None:
    """H4: four triples, which are all alike, and the whole."""
    ((shift, choices, points),) = numbers_to_group(counts(1, 1, 1, 1))
    assert shift == 0
    assert [choice.kept for choice in choices] == [3, 3, 3, 3, 4]
    assert set(points) == {point(places=3, kept=3), point(places=4, kept=4)}


def test_any_way_to_group_leaves_tiles_to_runs() -> None:
    """H4: two of three colours are a group as well, with a gap for either other colour."""
    ((_shift, choices, _points),) = numbers_to_group_in_any_way(counts(1, 1, 0, 1))
    assert {choice.groups for choice in choices} == {
        ((RED, YELLOW),),
        ((RED, BLACK),),
        ((YELLOW, BLACK),),
        ((RED, YELLOW, BLACK),),
    }


def test_groups_end_with_the_places_of_a_hand() -> None:
    """H1: seven and seven copies are four groups at most."""
    assert max(len(choice.groups) for choice in choices_of((7, 7, 0, 0))) == 4


def test_numbers_held_in_two_colours_can_be_grouped() -> None:
    """H4: copies of one colour do not count."""
    three, seven, nine = 4 * 2, 4 * 6, 4 * 8
    vectors = (1 << seven | 3 << nine, 2 << seven | 2 << three, 1 << nine, 5 << nine)
    for numbers in (numbers_to_group(vectors), numbers_to_group_in_any_way(vectors)):
        assert [shift for shift, _choices, _points in numbers] == [seven, nine]
    assert [shift for shift, _choices, _points in numbers_with_complete_groups(vectors)] == [nine]
    full = (1 << nine,) * 4
    alike = numbers_with_complete_groups((full[0], full[1], full[2], full[3]))
    assert alike == numbers_to_group((full[0], full[1], full[2], full[3]))
