"""One bot against another on duplicate deals: the same tiles again with the seats rotated.

A *deal* is all matches that are played from one seed, one for each seat that the challenger can
have. What luck there is in a deal then falls on both sides alike, and what happens at one deal says
nothing about another: the deal is the unit that statistics count.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Final

from okey.arena.baselines import play_by_neighbours, play_randomly
from okey.bots.choose import choose
from okey.errors import InvalidInput, quoted
from okey.rules.finish import FinishKind
from okey.rules.variant import BotLevel, Mode, partner_of
from okey.simulation.play import Policy, Report, simulate
from okey.table.commands import Action
from okey.table.config import TableConfig
from okey.table.view import TableView


class UnknownBot(InvalidInput):
    """No bot of that name plays in the arena."""

    reason = "UNKNOWN_BOT"


class NoContest(InvalidInput):
    """A table at which two bots cannot be compared."""

    reason = "NO_CONTEST"


def _play_at(level: BotLevel, view: TableView, _: BotLevel, is_stand_in: bool, seed: int) -> Action:
    return choose(view, level, is_stand_in, seed)


BOTS: Final[Mapping[str, Policy]] = {
    "random": play_randomly,
    "neighbours": play_by_neighbours,
    **{level.name.lower(): partial(_play_at, level) for level in BotLevel},
}
"""Who can play in the arena, by name: the baselines and the three levels."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Who plays whom, and at what kind of table; ``seed`` names the series of deals.

    The challenger has one seat and the opponent all others; in Eşli each has a pair of partners.

    Raises:
        UnknownBot: a name is not among ``BOTS``.
        NoContest: the table is for one person (O1).
    """

    config: TableConfig
    challenger: str
    opponent: str
    seed: int

    def __post_init__(self) -> None:
        for name in (self.challenger, self.opponent):
            if name not in BOTS:
                raise UnknownBot(f"{quoted(name)} plays not here: choose from {', '.join(BOTS)}")
        if self.config.mode is Mode.SOLO:
            raise NoContest(
                "a SOLO table has bots of one level on all seats but one: choose NORMAL (O1)"
            )

    @property
    def sides(self) -> tuple[frozenset[int], ...]:
        """The seats that the challenger has, for each match of a deal."""
        if self.config.mode is Mode.ESLI:
            return tuple(frozenset({seat, partner_of(seat)}) for seat in (0, 1))
        return tuple(frozenset({seat}) for seat in range(self.config.seat_count))

    @property
    def chance(self) -> float:
        """The share of decided rounds that the challenger wins if it plays as the opponent does."""
        return len(self.sides[0]) / self.config.seat_count


@dataclass(frozen=True, slots=True)
class DealResult:
    """What all matches of one deal came to.

    ``won`` and ``lost`` count decided rounds by the way of finishing, from the challenger's side;
    ``chips`` and ``points`` are the challenger's mean over its seats less the mean over the
    opponents', summed over the deal's matches.
    """

    matches: int
    rounds: int
    won: Mapping[FinishKind, int]
    lost: Mapping[FinishKind, int]
    matches_won: int
    matches_lost: int
    chips: float
    points: float


def play_deal(contest: Contest, number: int) -> DealResult:
    """Play the deal of this number in every seating; deterministic in contest and number."""
    reports = []
    for own in contest.sides:
        policy = partial(_play_seat, own, BOTS[contest.challenger], BOTS[contest.opponent])
        seed = int.from_bytes(_digest(f"{contest.seed}:{number}"))
        reports.append((own, simulate(contest.config, 1, seed, policy)))
    return _result(reports)


def _play_seat(
    own: frozenset[int],
    challenger: Policy,
    opponent: Policy,
    view: TableView,
    level: BotLevel,
    is_stand_in: bool,
    seed: int,
) -> Action:
    policy = challenger if view.viewer in own else opponent
    return policy(view, level, is_stand_in, seed)


def _result(reports: list[tuple[frozenset[int], Report]]) -> DealResult:
    won: Counter[FinishKind] = Counter()
    lost: Counter[FinishKind] = Counter()
    for own, report in reports:
        for (seat, finish), times in report.finishes_by_seat.items():
            (won if seat in own else lost)[finish] += times
    wins = [
        (seat in own, times)
        for own, report in reports
        for seat, times in report.wins_by_seat.items()
    ]
    return DealResult(
        matches=sum(report.matches for _, report in reports),
        rounds=sum(report.rounds for _, report in reports),
        won=won,
        lost=lost,
        matches_won=sum(times for is_own, times in wins if is_own),
        matches_lost=sum(times for is_own, times in wins if not is_own),
        chips=sum(_lead(report.chips_by_seat, own) for own, report in reports),
        points=sum(_lead(report.points_by_seat, own) for own, report in reports),
    )


def _lead(by_seat: Mapping[int, int], own: frozenset[int]) -> float:
    mine = [amount for seat, amount in by_seat.items() if seat in own]
    others = [amount for seat, amount in by_seat.items() if seat not in own]
    return sum(mine) / len(mine) - sum(others) / len(others) if others else 0.0


def _digest(text: str) -> bytes:
    return blake2b(f"okey-arena:{text}".encode(), digest_size=8).digest()
