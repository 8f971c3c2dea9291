"""How many tiles a hand is away from a finish; distance 0 and winning are the same thing.

The distance to a form is the least number of tiles of the hand that must be exchanged so that it
has the form, where any tile may come in (any copy exists in thought). An exchanged tile is as good
as one more okey, so for a normal hand this is 14 less the okeys, less the most other tiles that
fit into melds of at most 14 places together; okeys and the tiles that come in fill the gaps.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from okey.rules.faces import HAND_TILES, Faces, Vectors, faces_of
from okey.rules.groups import GroupChoice, group_choices, numbers_with_groups, without_groups
from okey.rules.hand import unpaired
from okey.rules.runs import slots_by_kept
from okey.rules.tile import Tile

RACK_SIZES: Final = (HAND_TILES, HAND_TILES + 1)
"""A rack between turns and one that has drawn; of 15, the best 14 count."""

_SMALLEST: Final = 3
_REMEMBERED: Final = 1 << 15


class Plan(NamedTuple):
    """The most tiles that can stay: groups by the shift of their number, runs of what they leave.

    ``kept`` tiles are in the groups and in runs of ``vectors`` on at most 14 places together.
    """

    groups: tuple[tuple[int, GroupChoice], ...]
    vectors: Vectors
    kept: int


def distance_to_normal(tiles: Sequence[Tile], okey: Tile) -> int:
    """The tiles to be exchanged for a normal hand (H2), 0..14; of 15 tiles the best 14 count.

    Raises ``WrongTileCount`` for other numbers of tiles and ``NotAnOkey``.
    """
    faces = faces_of(tiles, okey, RACK_SIZES)
    return distance_of(faces, best_plan(faces))


def distance_to_cift(tiles: Sequence[Tile], okey: Tile) -> int:
    """The tiles to be exchanged for seven pairs (H5), 0..7; of 15 tiles the best 14 count.

    Raises ``WrongTileCount`` for other numbers of tiles and ``NotAnOkey``.
    """
    faces = faces_of(tiles, okey, RACK_SIZES)
    # Each exchange makes a pair of two lone tiles; of 15 tiles a lone one is left over.
    return max(0, unpaired(faces) - faces.wild) // 2


def distance_of(faces: Faces, plan: Plan) -> int:
    """The distance to a normal hand that ``plan`` shows."""
    return max(0, HAND_TILES - faces.wild - plan.kept)


def best_plan(faces: Faces) -> Plan:
    """A plan that keeps the most tiles, or as many as 14 places hold besides the okeys."""
    best = Plan((), faces.vectors, _kept_in_runs(faces.vectors, HAND_TILES))
    numbers = _group_numbers(faces.vectors)
    bounds = _bounds(faces.vectors, {most for most, _shift, _choices in numbers})
    enough = HAND_TILES - faces.wild
    open_ends = [(0, HAND_TILES, 0, Plan((), faces.vectors, 0))]
    while open_ends and best.kept < enough:
        first, slots, grouped, plan = open_ends.pop()
        for index in range(first, len(numbers)):
            most, shift, choices = numbers[index]
            for choice in choices:
                left, kept = slots - choice.slots, grouped + choice.kept
                if left < 0 or kept + bounds[most][left] <= best.kept:
                    continue
                vectors = without_groups(plan.vectors, choice, shift)
                grown = Plan(
                    (*plan.groups, (shift, choice)), vectors, kept + _kept_in_runs(vectors, left)
                )
                if grown.kept > best.kept:
                    best = grown
                open_ends.append((index + 1, left, kept, grown))
    return best


def _group_numbers(vectors: Vectors) -> list[tuple[int, int, tuple[GroupChoice, ...]]]:
    """(most tiles of one group, shift, choices) of the numbers that can have groups, most first."""
    numbers = []
    for shift in numbers_with_groups(vectors, 2):
        choices = group_choices(vectors, shift)[1:]
        most = max(len(group) for choice in choices for group in choice.groups)
        numbers.append((most, shift, choices))
    return sorted(numbers, key=lambda number: number[0], reverse=True)


def _bounds(vectors: Vectors, mosts: set[int]) -> dict[int, list[int]]:
    """By the most tiles of a group and the places left: what runs and further groups can hold.

    Groups only take tiles away from the runs, so runs of the whole hand are a bound.
    """
    in_runs = [_kept_in_runs(vectors, slots) for slots in range(HAND_TILES + 1)]
    bounds = {}
    for most in mosts:
        bound = list(in_runs)
        for slots in range(_SMALLEST, HAND_TILES + 1):
            bound[slots] = max(bound[slots], bound[slots - _SMALLEST] + most)
        bounds[most] = bound
    return bounds


def _kept_in_runs(vectors: Vectors, slots: int) -> int:
    """The most tiles of all colours in runs of at most ``slots`` places together."""
    first = _slots_of_two(vectors[0], vectors[1])
    second = _slots_of_two(vectors[2], vectors[3])
    most = 0
    other = len(second) - 1
    for kept, used in enumerate(first):
        while other >= 0 and used + second[other] > slots:
            other -= 1
        if other < 0:
            break
        most = max(most, kept + other)
    return most


@lru_cache(maxsize=_REMEMBERED)
def _slots_of_two(vector: int, other: int) -> tuple[int, ...]:
    """``slots_by_kept`` of two colours together."""
    first, second = slots_by_kept(vector), slots_by_kept(other)
    best = [HAND_TILES + 1] * (len(first) + len(second) - 1)
    for kept, slots in enumerate(first):
        for more, further in enumerate(second):
            best[kept + more] = min(best[kept + more], slots + further)
    return tuple(slots for slots in best if slots <= HAND_TILES)
