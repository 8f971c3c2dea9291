"""Groups of one number: the choices worth trying (H4).

For the most tiles that can stay, a group that has a tile's colour free takes that tile rather than
a gap: where a run gives the tile up, the run has the gap instead, and nothing changes in total. So
two or three colours leave one choice of group, and four leave the whole and the four triples. Where
the gaps themselves matter, every set of two or more colours is a choice. A lone tile in a group
keeps no more than in a run. What was worked out is remembered for 4,096 counts a function.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, combinations
from typing import Final, NamedTuple

from okey.rules.faces import HAND_TILES, ONES, Vectors, support
from okey.rules.fits import Points, point
from okey.rules.tile import Colour

SMALLEST_GROUP: Final = 3
_REMEMBERED: Final = 1 << 12

Group = tuple[int, ...]
"""The colours, as indices, of the tiles that a group holds; two tiles have a gap beside them."""


class GroupChoice(NamedTuple):
    """Groups of one number, and what they use up in total.

    They keep ``kept`` tiles on so many ``places``; ``used`` counts the tiles by colour.
    """

    places: int
    kept: int
    used: Vectors
    groups: tuple[Group, ...]


class Choices(NamedTuple):
    """What to try with one number: the least promising first, and the points of all (``fits``)."""

    choices: tuple[GroupChoice, ...]
    points: Points


Number = tuple[int, tuple[GroupChoice, ...], Points]
"""A number that can have groups: its shift ``4 * (number - 1)`` in the vectors, and ``Choices``."""


def numbers_to_group(vectors: Vectors) -> list[Number]:
    """The numbers held in at least two colours, with the groups that keep the most."""
    return [(shift, *_fullest(counts)) for shift, counts in _shared(vectors)]


def numbers_with_complete_groups(vectors: Vectors) -> list[Number]:
    """The numbers held in three colours or four, as ``numbers_to_group`` has them."""
    return [(shift, *_fullest(counts)) for shift, counts in _shared(vectors, colours=3)]


def numbers_to_group_in_any_way(vectors: Vectors) -> list[Number]:
    """The numbers held in at least two colours, with all groups of two tiles or more."""
    return [(shift, *_any(counts)) for shift, counts in _shared(vectors)]


def places_of(group: Group) -> int:
    """How many places a group is on, its gap included."""
    return max(SMALLEST_GROUP, len(group))


def _shared(vectors: Vectors, colours: int = 2) -> Iterator[tuple[int, Vectors]]:
    """The shift and the counts by colour of each number held in so many colours (2 or 3)."""
    red, yellow, blue, black = vectors
    held = support(red) + support(yellow) + support(blue) + support(black)
    shared = (held >> 2 | held >> 1 & (ONES if colours == 2 else held)) & ONES
    while shared:
        lowest = shared & -shared
        shift = lowest.bit_length() - 1
        yield (
            shift,
            (red >> shift & 15, yellow >> shift & 15, blue >> shift & 15, black >> shift & 15),
        )
        shared -= lowest


@lru_cache(maxsize=_REMEMBERED)
def _fullest(counts: Vectors) -> Choices:
    return _choices(_sets_of_groups(counts, HAND_TILES, _fullest_groups))


@lru_cache(maxsize=_REMEMBERED)
def _any(counts: Vectors) -> Choices:
    return _choices(_sets_of_groups(counts, HAND_TILES, _any_groups))


def _fullest_groups(present: Group) -> Iterable[Group]:
    triples = combinations(present, SMALLEST_GROUP) if len(present) == len(Colour) else ()
    return (present, *triples)


def _any_groups(present: Group) -> Iterable[Group]:
    return chain.from_iterable(combinations(present, size) for size in range(2, len(present) + 1))


def _sets_of_groups(
    counts: Vectors, places: int, groups_of: Callable[[Group], Iterable[Group]]
) -> set[tuple[Group, ...]]:
    """Every set of groups on at most so many places, sorted; the empty one too."""
    found: set[tuple[Group, ...]] = {()}
    present = tuple(colour for colour, count in enumerate(counts) if count)
    if len(present) < 2:
        return found
    for group in groups_of(present):
        left = places - places_of(group)
        if left >= 0:
            red, yellow, blue, black = (count - (i in group) for i, count in enumerate(counts))
            for others in _sets_of_groups((red, yellow, blue, black), left, groups_of):
                found.add(tuple(sorted((group, *others))))
    return found


def _choices(sets: set[tuple[Group, ...]]) -> Choices:
    choices = sorted(
        (
            GroupChoice(
                places=sum(map(places_of, groups)),
                kept=sum(map(len, groups)),
                used=(_uses(groups, 0), _uses(groups, 1), _uses(groups, 2), _uses(groups, 3)),
                groups=groups,
            )
            for groups in sets
            if groups
        ),
        key=lambda choice: (choice.kept, -choice.places, choice.groups),
    )
    return Choices(tuple(choices), tuple({point(choice.places, choice.kept) for choice in choices}))


def _uses(groups: tuple[Group, ...], colour: int) -> int:
    return sum(colour in group for group in groups)
