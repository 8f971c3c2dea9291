"""The tiles whose drawing brings a hand nearer to a form: what its best plans wait for (H2, H5).

A draw brings 14 tiles nearer to a normal hand exactly if one more tile can then stay. Take it out
of the plan that keeps it, and a gap is left in a plan that keeps the most tiles of the 14. So the
improving tiles are the gaps of all best plans together, and no tile has to be tried.

Sets of faces are integers: bit ``tile - 1`` stands for a number tile. What was worked out for the
vector of a colour is remembered for 32,768 of them, each below 1 kB.
"""

from collections import defaultdict
from functools import lru_cache
from itertools import combinations, product
from typing import Final, NamedTuple

from okey.rules.faces import HAND_TILES, NIBBLE, Faces
from okey.rules.fits import EACH_PLACE, WITHIN_HAND, most_by_places, places_and_kept, point
from okey.rules.groups import SMALLEST_GROUP, numbers_to_group_in_any_way
from okey.rules.plan import Plan, Plans
from okey.rules.runs import points_of_runs
from okey.rules.tile import HIGHEST_NUMBER, Colour

_REMEMBERED: Final = 1 << 15


class _Waits(NamedTuple):
    """By places, 16 bits each: the numbers that improve what runs keep of a colour at best.

    ``in_runs`` are the numbers of this colour that a run misses, ``beside`` those of other colours,
    next to a tile that begins a meld on its own.
    """

    in_runs: int
    beside: int


def improving_normal(faces: Faces, distance: int) -> int:
    """The faces that bring 14 tiles nearer to a normal hand than ``distance``.

    That is their distance, and not 0.
    """
    kept = HAND_TILES - faces.wild - distance
    found = 0
    for plan in Plans(faces.vectors, kept, numbers_to_group_in_any_way):
        found |= _gaps(plan, kept - plan.grouped)
    return found


def improving_cift(faces: Faces) -> int:
    """The faces that bring 14 tiles, which are not won, nearer to seven pairs.

    These are the lone tiles' twins: an odd number of copies leaves one over.
    """
    return sum(
        (vector >> NIBBLE * number & 1) << HIGHEST_NUMBER * colour + number
        for colour, vector in enumerate(faces.vectors)
        for number in range(HIGHEST_NUMBER)
    )


def _gaps(plan: Plan, kept: int) -> int:
    """The gaps of all melds of the plan, where runs keep so many tiles, the most that they can."""
    rooms, spare = _rooms(plan, kept)
    found = 0
    for colour, (vector, room) in enumerate(zip(plan.vectors, rooms, strict=True)):
        waits = _waits(vector)
        in_runs = beside = 0
        for places in room:
            in_runs |= waits.in_runs >> point(places, 0)
            beside |= waits.beside >> point(places, 0)
        others = _EVERY_COLOUR - (1 << HIGHEST_NUMBER * colour)
        found |= (in_runs & _NUMBERS) << HIGHEST_NUMBER * colour | (beside & _NUMBERS) * others
    for shift, choice in plan.groups:
        for group in choice.groups:
            if len(group) < SMALLEST_GROUP + (spare > 0):
                found |= _MISSING[group] << shift // NIBBLE
    return found


def _rooms(plan: Plan, kept: int) -> tuple[tuple[set[int], ...], int]:
    """By colour how many places its runs may be on, and the most places that nothing needs.

    The runs together keep the ``kept`` tiles; any one colour, or a group, may have what is spare.
    """
    reds, yellows, blues, blacks = map(_pairs, plan.vectors)
    last_two = defaultdict(list)
    for (blue, more), (black, most) in product(blues, blacks):
        last_two[more + most].append((blue, black))
    rooms: tuple[set[int], ...] = (set(), set(), set(), set())
    most_spare = 0
    for (red, few), (yellow, more) in product(reds, yellows):
        for blue, black in last_two.get(kept - few - more, ()):
            spare = plan.places - red - yellow - blue - black
            if spare >= 0:
                most_spare = max(most_spare, spare)
                for room, places in zip(rooms, (red, yellow, blue, black), strict=True):
                    room.add(places + spare)
    return rooms, most_spare


@lru_cache(maxsize=_REMEMBERED)
def _waits(vector: int) -> _Waits:
    here = _most(vector)
    in_runs = beside = 0
    for number in range(HIGHEST_NUMBER):
        one = 1 << NIBBLE * number
        in_runs |= _most(vector + one) - here << number
        if vector >> NIBBLE * number & 15:
            # The tile on its own, on three places, and the best of the others; never more.
            alone = (_most(vector - one) + EACH_PLACE << point(SMALLEST_GROUP, 0)) & WITHIN_HAND
            lost = here - alone
            beside |= (_FROM_THREE & ~(lost | lost >> 1 | lost >> 2 | lost >> 3)) << number
    return _Waits(in_runs, beside)


@lru_cache(maxsize=_REMEMBERED)
def _pairs(vector: int) -> tuple[tuple[int, int], ...]:
    """The points of a colour's runs as places and kept."""
    return tuple(map(places_and_kept, points_of_runs(vector)))


@lru_cache(maxsize=_REMEMBERED)
def _most(vector: int) -> int:
    return most_by_places(points_of_runs(vector))


_NUMBERS: Final = (1 << HIGHEST_NUMBER) - 1
_EVERY_COLOUR: Final = sum(1 << HIGHEST_NUMBER * colour for colour in range(len(Colour)))
_FROM_THREE: Final = EACH_PLACE >> point(SMALLEST_GROUP, 0) << point(SMALLEST_GROUP, 0)
_MISSING: Final = {
    group: sum(1 << HIGHEST_NUMBER * c for c in range(len(Colour)) if c not in group)
    for size in range(2, len(Colour) + 1)
    for group in combinations(range(len(Colour)), size)
}
"""By group: the faces of the colours that it misses, were its number 1."""
