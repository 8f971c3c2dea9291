"""Groups of one number."""

import pytest

from okey.rules.faces import Vectors
from okey.rules.groups import group_choices, numbers_with_groups, without_groups

RED, YELLOW, BLUE, BLACK = range(4)


def counts(red: int, yellow: int, blue: int, black: int) -> Vectors:
    """So many 1s of each colour."""
    return (red, yellow, blue, black)


def groups_of(*held: int) -> set[tuple[tuple[int, ...], ...]]:
    red, yellow, blue, black = held
    return {choice.groups for choice in group_choices(counts(red, yellow, blue, black), 0)}


@pytest.mark.parametrize(
    ("held", "groups"),
    [
        ((2, 0, 0, 0), {()}),  # one colour twice is no group
        ((1, 1, 0, 0), {(), ((RED, YELLOW),)}),
        ((2, 1, 0, 0), {(), ((RED, YELLOW),)}),
        ((1, 0, 1, 1), {(), ((RED, BLUE, BLACK),)}),
        (
            (1, 1, 1, 1),
            {
                (),
                ((RED, YELLOW, BLUE, BLACK),),
                ((RED, YELLOW, BLUE),),
                ((RED, YELLOW, BLACK),),
                ((RED, BLUE, BLACK),),
                ((YELLOW, BLUE, BLACK),),
            },
        ),
        ((2, 2, 0, 0), {(), ((RED, YELLOW),), ((RED, YELLOW), (RED, YELLOW))}),
    ],
)
def test_choices_of_groups(held: tuple[int, ...], groups: set[tuple[tuple[int, ...], ...]]) -> None:
    """H4: different colours only; each group takes every colour that it can, or three of four."""
    assert groups_of(*held) == groups


def test_a_choice_says_what_it_uses_up() -> None:
    """H2, H4: a group of two keeps two tiles on three places."""
    nothing, pair = group_choices(counts(2, 0, 0, 1), 0)
    assert (nothing.kept, nothing.slots, nothing.used) == (0, 0, (0, 0, 0, 0))
    assert (pair.kept, pair.slots, pair.used) == (2, 3, (1, 0, 0, 1))
    assert without_groups(counts(2, 0, 0, 1), pair, 0) == counts(1, 0, 0, 0)


def test_groups_end_with_the_places_of_a_hand() -> None:
    """H1: seven and seven copies are four groups at most."""
    assert max(len(choice.groups) for choice in group_choices(counts(7, 7, 0, 0), 0)) == 4


def test_numbers_held_in_two_and_in_three_colours() -> None:
    """H4: copies of one colour do not count."""
    seven, nine = 4 * 6, 4 * 8
    vectors = (1 << seven | 3 << nine, 2 << seven, 1 << nine, 5 << nine)
    assert list(numbers_with_groups(vectors, 2)) == [seven, nine]
    assert list(numbers_with_groups(vectors, 3)) == [nine]
    full = (1 << nine,) * 4
    assert list(numbers_with_groups((full[0], full[1], full[2], full[3]), 3)) == [nine]
