"""How likely a hand is to finish first: a recursion over the turns that are left.

A hand is summed up by its distance and its *share*: the part of all unseen tiles that brings it
nearer. In each own turn it comes nearer with a chance that follows from the share – from the stock
and, about as often again, from the left neighbour's discards – and the share of what is then left,
or of the hand that only got better shaped, follows from the share before. Before each further turn
somebody else may have finished, the likelier the longer the round is.

The constants are what was counted in some 10,000 rounds between bots, on deals that no published
figure rests on (``docs/bots.md``).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

LONGEST: Final = 30
"""Own turns after which no further one is counted; a stock of two seats lasts 38."""

_STEPS: Final = 50
_FURTHEST: Final = 6

_FINISHED_BY_TURN: Final = (
    0.0, 0.001, 0.002, 0.007, 0.017, 0.025, 0.042, 0.053, 0.072, 0.085, 0.094, 0.108, 0.115, 0.127,
    0.14, 0.15,
)  # fmt: skip
"""By own turns played: how likely one opponent finishes before the next one; later as the last."""

_TRIES: Final = 1.75
_LAST_TRIES: Final = 1.65
"""How many draws from the stock one turn is worth, with what the neighbour discards; the last tile
is the one that careful neighbours keep.
"""


@dataclass(frozen=True, slots=True)
class _Line:
    """A share that follows from the share before."""

    base: float
    slope: float

    def at(self, share: float) -> float:
        return self.base + self.slope * share


# By distance, 0..6; a distance beyond counts as the last.
_MELDS_NEARER: Final = tuple(
    _Line(base, slope)
    for base, slope in (
        (0, 0), (0.033, 0.29), (0.033, 0.29), (0.035, 0.43), (0.05, 0.44), (0.06, 0.45),
        (0.07, 0.45),
    )
)  # fmt: skip
_MELDS_NOT: Final = tuple(
    _Line(base, slope)
    for base, slope in (
        (0, 0), (0.027, 0.85), (0.063, 0.75), (0.10, 0.68), (0.165, 0.61), (0.2, 0.6), (0.2, 0.6),
    )
)  # fmt: skip


# Pairs wait for the twin of each lone tile, and a hand at distance n has 2 * n of these.
_PAIRS_NEARER: Final = tuple(
    _Line(0, (distance - 1) / max(distance, 1)) for distance in range(_FURTHEST + 1)
)
_PAIRS_NOT: Final = (_Line(0.005, 1.0),) * (_FURTHEST + 1)


@dataclass(frozen=True, slots=True)
class Company:
    """The other seats of a round: how many play against this one, and how many with it (Eşli)."""

    opponents: int
    partners: int = 0


class Chances:
    """What a hand's distance and share are worth in a certain company; ask ``chances_in``."""

    def __init__(self, company: Company, *, is_cift: bool) -> None:
        self._nearer = _PAIRS_NEARER if is_cift else _MELDS_NEARER
        self._not = _PAIRS_NOT if is_cift else _MELDS_NOT
        self._others = company.opponents + company.partners
        self._part_of_partners = company.partners / self._others
        # By turns left of LONGEST, distance and step of the share.
        self._table: list[list[list[float]]] = []
        nothing = [[0.0] * (_STEPS + 1) for _ in range(_FURTHEST + 1)]
        for turn in range(LONGEST, -1, -1):
            later = self._table[-1] if self._table else nothing
            self._table.append(self._row(turn, later))
        self._table.reverse()

    def waiting(self, distance: int, share: float, turn: int) -> float:
        """The chance that the side finishes first, the own turn of this number being over."""
        return _read(self._table[min(turn, LONGEST)], distance, share)

    def drawing(self, distance: int, share: float, turn: int) -> float:
        """The same before the draw of this turn, which will be from the stock."""
        row = self._table[min(turn, LONGEST)]
        step = min(distance, _FURTHEST)
        nearer = _read(row, distance - 1, self._nearer[step].at(share))
        return share * nearer + (1 - share) * _read(row, distance, self._not[step].at(share))

    def undisturbed(self, turn: int) -> float:
        """The chance that nobody else finishes before the next own turn."""
        finished = _FINISHED_BY_TURN[min(turn, len(_FINISHED_BY_TURN) - 1)]
        return float((1 - finished) ** self._others)

    def once_others_moved(self, own: float, turn: int) -> float:
        """The chance after the own turn of this number, where it will be ``own`` before the next
        one if nobody else has finished by then.
        """
        undisturbed = self.undisturbed(turn)
        return (1 - undisturbed) * self._part_of_partners + undisturbed * own

    def _row(self, turn: int, later: list[list[float]]) -> list[list[float]]:
        row = [[1.0] * (_STEPS + 1)]
        for distance in range(1, _FURTHEST + 1):
            row.append([])
            for step in range(_STEPS + 1):
                share = step / _STEPS
                comes = next_turn(share, is_last=distance == 1)
                nearer = _read(later, distance - 1, self._nearer[distance].at(share))
                else_ = _read(later, distance, self._not[distance].at(share))
                own = comes * (nearer if distance > 1 else 1.0) + (1 - comes) * else_
                row[-1].append(self.once_others_moved(own, turn))
        return row


def next_turn(share: float, *, is_last: bool) -> float:
    """The chance that the next turn brings one of the tiles that make up this share."""
    return float(1 - (1 - share) ** (_LAST_TRIES if is_last else _TRIES))


def shifted(chance: float, log_odds: float) -> float:
    """The chance whose odds are better by ``log_odds``, which may be negative."""
    odds = math.exp(log_odds)
    return chance * odds / (1 - chance + chance * odds)


@lru_cache(maxsize=16)
def chances_in(company: Company, *, is_cift: bool = False) -> Chances:
    """The chances of melds, or of pairs, in a company; there are few, each is computed once."""
    return Chances(company, is_cift=is_cift)


def _read(row: list[list[float]], distance: int, share: float) -> float:
    """The table between two of its steps."""
    line = row[min(distance, _FURTHEST)]
    place = min(max(share, 0.0), 1.0) * _STEPS
    step = min(int(place), _STEPS - 1)
    return line[step] + (place - step) * (line[step + 1] - line[step])
