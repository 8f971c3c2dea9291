"""Groups of one number: the choices worth trying (H4).

A group that has a tile's colour free takes that tile rather than a gap: where a run gives the tile
up, the run has the gap instead, and nothing changes in total. So two or three colours leave one
choice of group, and four leave the whole and the four triples. A lone tile in a group is no better
than in a run.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Final, NamedTuple

from okey.rules.faces import HAND_TILES, ONES, Vectors, support

_SMALLEST: Final = 3
_REMEMBERED: Final = 1 << 12


class GroupChoice(NamedTuple):
    """Groups of one number: which colours' tiles each holds, and what they use up in total.

    ``kept`` tiles stand on ``slots`` places; ``used`` counts the tiles by colour.
    """

    groups: tuple[tuple[int, ...], ...]
    kept: int
    slots: int
    used: Vectors


def numbers_with_groups(vectors: Vectors, colours: int) -> Iterator[int]:
    """The shifts (``4 * (number - 1)``) of numbers in at least ``colours`` (2 or 3) colours."""
    red, yellow, blue, black = vectors
    held = support(red) + support(yellow) + support(blue) + support(black)
    many = (held >> 2 | held >> 1 & (ONES if colours == 2 else held)) & ONES
    while many:
        lowest = many & -many
        yield lowest.bit_length() - 1
        many -= lowest


def group_choices(vectors: Vectors, shift: int) -> tuple[GroupChoice, ...]:
    """All ways worth trying to group the number at ``shift``; the first is to group nothing."""
    red, yellow, blue, black = vectors
    return _choices(
        (red >> shift & 15, yellow >> shift & 15, blue >> shift & 15, black >> shift & 15)
    )


def without_groups(vectors: Vectors, choice: GroupChoice, shift: int) -> Vectors:
    """The vectors less the tiles that ``choice`` takes of the number at ``shift``."""
    red, yellow, blue, black = choice.used
    return (
        vectors[0] - (red << shift),
        vectors[1] - (yellow << shift),
        vectors[2] - (blue << shift),
        vectors[3] - (black << shift),
    )


@lru_cache(maxsize=_REMEMBERED)
def _choices(counts: Vectors) -> tuple[GroupChoice, ...]:
    return tuple(
        GroupChoice(
            groups,
            kept=sum(map(len, groups)),
            slots=_slots_of(groups),
            used=(_uses(groups, 0), _uses(groups, 1), _uses(groups, 2), _uses(groups, 3)),
        )
        for groups in sorted(_group_sets(counts, HAND_TILES))
    )


def _group_sets(counts: Vectors, slots: int) -> set[tuple[tuple[int, ...], ...]]:
    """Every set of groups, as sorted tuples of colour indices, on at most ``slots`` places."""
    found: set[tuple[tuple[int, ...], ...]] = {()}
    present = tuple(colour for colour, count in enumerate(counts) if count)
    if len(present) < 2:
        return found
    triples = combinations(present, _SMALLEST) if len(present) == len(counts) else ()
    for group in (present, *triples):
        left = slots - max(_SMALLEST, len(group))
        if left >= 0:
            red, yellow, blue, black = (count - (i in group) for i, count in enumerate(counts))
            for others in _group_sets((red, yellow, blue, black), left):
                found.add(tuple(sorted((group, *others))))
    return found


def _slots_of(groups: tuple[tuple[int, ...], ...]) -> int:
    return sum(max(_SMALLEST, len(group)) for group in groups)


def _uses(groups: tuple[tuple[int, ...], ...], colour: int) -> int:
    return sum(colour in group for group in groups)
