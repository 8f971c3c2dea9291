"""Which tiles of a hand can stay: the one search behind verdict, distance and arrangement (H2).

A normal hand is 14 places of melds. Okeys and tiles still to come fill gaps, so all depends on the
most other tiles that fit into melds on at most 14 places together. Groups are fixed first; then the
colours are independent of each other, and their fits (see ``fits``) are combined. What the groups
of further numbers could add at best bounds the search.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from okey.rules.faces import HAND_TILES, Faces, Vectors
from okey.rules.fits import AT_LEAST, WITHIN_HAND
from okey.rules.groups import GroupChoice, Number, numbers_to_group, numbers_with_complete_groups
from okey.rules.runs import points_of_runs

Groups = tuple[tuple[int, GroupChoice], ...]
"""The groups of several numbers, by the number's shift in the vectors."""


class Plan(NamedTuple):
    """Groups that keep ``grouped`` tiles, and what they leave: ``places`` for runs of ``vectors``.

    ``fit`` is what runs of ``vectors`` can hold.
    """

    groups: Groups
    grouped: int
    vectors: Vectors
    places: int
    fit: int

    @property
    def kept(self) -> int:
        """The most tiles that stay with these groups."""
        row, in_runs = AT_LEAST[self.places], 0
        while self.fit & row[in_runs + 1]:
            in_runs += 1
        return self.grouped + in_runs


class Plans:
    """All plans of a hand that keep ``wanted`` tiles or more; it may be raised on the way.

    ``numbers`` says for the hand's vectors which groups to try.
    """

    def __init__(
        self,
        vectors: Vectors,
        wanted: int,
        numbers: Callable[[Vectors], list[Number]] = numbers_to_group,
    ) -> None:
        self.wanted = wanted
        self._vectors = vectors
        self._numbers = numbers

    def __iter__(self) -> Iterator[Plan]:
        numbers: list[Number] | None = None
        branches: list[_Branch] = [((), 0, self._vectors, HAND_TILES, WITHIN_HAND, 0)]
        while branches:
            groups, grouped, vectors, places, bound, first = branches.pop()
            lacking = self.wanted - grouped
            enough = AT_LEAST[places][lacking if lacking > 0 else 0]
            if not bound & enough:
                continue
            bound = fit_of_colours(vectors)
            if bound & enough:
                yield Plan(groups, grouped, vectors, places, bound)
                lacking = self.wanted - grouped
            if numbers is None:
                numbers = self._numbers(vectors)
            red, yellow, blue, black = vectors
            for index in range(len(numbers) - 1, first - 1, -1):
                shift, choices, points = numbers[index]
                for choice in choices:
                    used_up, kept, used, _groups = choice
                    left = places - used_up
                    if (
                        left >= 0
                        and bound & AT_LEAST[left][lacking - kept if lacking > kept else 0]
                    ):
                        rest = (
                            red - (used[0] << shift),
                            yellow - (used[1] << shift),
                            blue - (used[2] << shift),
                            black - (used[3] << shift),
                        )
                        grown = (*groups, (shift, choice))
                        branches.append((grown, grouped + kept, rest, left, bound, index + 1))
                # The numbers before this one may add its groups to whatever stays in runs now.
                with_groups = bound
                for point in points:
                    with_groups |= bound << point
                bound = with_groups


_Branch = tuple[Groups, int, Vectors, int, int, int]
"""A plan to be: in place of its fit a bound of it, and the index of the next number to group."""


def best_plan(faces: Faces) -> Plan:
    """A plan that keeps the most tiles, or as many as 14 places hold besides the okeys."""
    enough = HAND_TILES - faces.wild
    plans = Plans(faces.vectors, 0)
    best: Plan | None = None
    for plan in plans:
        best = plan
        kept = plan.kept
        if kept >= enough:
            break
        plans.wanted = kept + 1
    assert best is not None, "the first plan, without groups, keeps 0 tiles or more"
    return best


def can_keep(vectors: Vectors, kept: int) -> bool:
    """Whether so many tiles can stay."""
    # Fourteen leave no gap, so their groups are complete.
    numbers = numbers_to_group if kept < HAND_TILES else numbers_with_complete_groups
    return next(iter(Plans(vectors, kept, numbers)), None) is not None


def fit_of_colours(vectors: Vectors) -> int:
    """The fit of runs of all colours together: each colour's points shift what came before."""
    red, yellow, blue, black = vectors
    reds = 0
    for point in points_of_runs(red):
        reds |= 1 << point
    yellows = 0
    for point in points_of_runs(yellow):
        yellows |= reds << point
    blues = 0
    for point in points_of_runs(blue):
        blues |= yellows << point
    blacks = 0
    for point in points_of_runs(black):
        blacks |= blues << point
    return blacks
