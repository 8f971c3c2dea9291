"""People of known strength who play and are rated: ``okey.rating`` with nothing around it.

A finish is drawn by strength: of those who are left, each wins with odds of ten to one for 400
points more, as the expected score has it for two.
"""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from okey.rating import (
    CanakWon,
    Departure,
    KlasikWon,
    Outcome,
    Participant,
    RatedMatch,
    RatingChange,
    Standing,
    rate_forfeit,
    rate_match,
    starting_standing,
)
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Mode, Variant

RULES: Final = DEFAULT_RULE_SET
KINDS: Final = ("canak of two", "canak of four", "klasik of four", "eşli")


@dataclass
class Person:
    """Somebody who plays; ``strength`` is in rating points and known to nobody."""

    strength: float
    standing: Standing = field(default_factory=lambda: starting_standing(RULES))

    @property
    def points(self) -> float:
        """The rating in points."""
        return self.standing.rating_milli / 1000


@dataclass
class Population:
    """All people of one ladder, and what the sink has taken from them."""

    people: list[Person]
    chance: random.Random
    sink_milli: int = 0
    forfeits: int = 0

    @classmethod
    def of(cls, count: int, seed: int, spread: float = 200.0) -> "Population":
        """So many people, their strengths spread around the middle."""
        chance = random.Random(seed)
        return cls([Person(chance.gauss(1200.0, spread)) for _ in range(count)], chance)

    def play(self, kind: str, seats: Sequence[Person], quits: Sequence[Person] = ()) -> None:
        """One match; who is in ``quits`` gives up as soon as somebody else is about to win."""
        leavers = {id(person) for person in quits}
        winner = self._draw([person.strength for person in seats], kind)
        winners = {winner, (winner + 2) % 4} if kind == "eşli" else {winner}
        gone = [
            seat
            for seat, person in enumerate(seats)
            if id(person) in leavers and seat not in winners
        ]
        self.end(kind, seats, winner, gone)

    def end(
        self, kind: str, seats: Sequence[Person], winner: int, gone: Sequence[int] = ()
    ) -> None:
        """Rate a match that the winner's seat has won, after the forfeits at the seats ``gone``."""
        before = [person.standing for person in seats]
        for seat in gone:
            forfeit = rate_forfeit(seat, RULES)
            self._book(seats, forfeit.changes, forfeit.sink_milli)
            self.forfeits += 1
        participants = tuple(
            Participant(before[seat], Departure.FORFEITED)
            if seat in gone
            else Participant(person.standing)
            for seat, person in enumerate(seats)
        )
        mode = Mode.ESLI if kind == "eşli" else Mode.NORMAL
        variant = Variant.KLASIK if kind.startswith("klasik") else Variant.CANAK
        rating = rate_match(
            RatedMatch(variant, mode, participants), self._outcome(kind, seats, winner), RULES
        )
        self._book(seats, rating.changes, rating.sink_milli)

    def play_at_random(self, matches: int, quits: Sequence[Person] = ()) -> None:
        """So many matches of all kinds, each between people drawn at random."""
        for number in range(matches):
            kind = KINDS[number % len(KINDS)]
            size = 2 if kind == "canak of two" else 4
            self.play(kind, self.chance.sample(self.people, size), quits)

    def total_milli(self) -> int:
        """What all ratings and the sink sum to."""
        return sum(person.standing.rating_milli for person in self.people) + self.sink_milli

    def _book(
        self, seats: Sequence[Person], changes: Sequence[RatingChange], sink_milli: int
    ) -> None:
        for change in changes:
            person = seats[change.seat]
            person.standing = person.standing.after(change.delta_milli)
        self.sink_milli += sink_milli

    def _outcome(self, kind: str, seats: Sequence[Person], winner: int) -> Outcome:
        if not kind.startswith("klasik"):
            return CanakWon(winner)
        order = self._order([person.strength for person in seats], winner)
        points = [0] * len(seats)
        for place, seat in enumerate(order):
            points[seat] = 9 - 3 * place
        return KlasikWon(winner, tuple(points))

    def _draw(self, strengths: Sequence[float], kind: str) -> int:
        if kind == "eşli":
            means = [(strengths[0] + strengths[2]) / 2, (strengths[1] + strengths[3]) / 2]
            return self._pick(means) + 2 * self.chance.randrange(2)
        return self._pick(strengths)

    def _pick(self, strengths: Sequence[float]) -> int:
        weights = [10 ** (strength / 400) for strength in strengths]
        return self.chance.choices(range(len(strengths)), weights)[0]

    def _order(self, strengths: Sequence[float], winner: int) -> list[int]:
        """The seats by remaining points, the winner's first."""
        left = [seat for seat in range(len(strengths)) if seat != winner]
        order = [winner]
        while left:
            following = left[self._pick([strengths[seat] for seat in left])]
            left.remove(following)
            order.append(following)
        return order


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's: how alike two orders are, 1 for the same and 0 for unrelated ones."""
    return statistics.correlation(_ranks(one), _ranks(other))


def _ranks(values: Sequence[float]) -> list[int]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0] * len(values)
    for rank, index in enumerate(order):
        ranks[index] = rank
    return ranks
