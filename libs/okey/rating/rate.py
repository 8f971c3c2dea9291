"""How a match, or giving one up, changes ratings (R1..R7): in integers, zero-sum with the sink."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from types import MappingProxyType
from typing import Final

from okey.rating.expected_score import SCORE_UNIT, expected_score
from okey.rating.match import (
    CanakWon,
    Departure,
    KlasikWon,
    Outcome,
    RatedMatch,
    Voided,
    require_outcome_fits,
)
from okey.rating.standing import ChangeKind, Sink, Standing
from okey.rating.units import MILLI
from okey.rules.rule_set import RuleSet
from okey.rules.variant import Mode, partner_of


@dataclass(frozen=True, slots=True)
class RatingChange:
    """What one seat's player gains or loses on one ladder, in milli-points."""

    seat: int
    kind: ChangeKind
    delta_milli: int


Pair = tuple[int, int]
"""Two seats, the lower one first."""


@dataclass(frozen=True, slots=True)
class MatchRating:
    """Every player's change, and what ``sink`` takes: together they sum to zero (R1, R5).

    ``met`` are the pairs of seats that were rated against each other, sorted (R7).
    """

    changes: tuple[RatingChange, ...] = ()
    sink_milli: int = 0
    sink: Sink = Sink.FORFEITS
    met: tuple[Pair, ...] = ()


UNRATED: Final = MatchRating()
NEVER_MET: Final[Mapping[Pair, int]] = MappingProxyType({})


def rate_forfeit(seat: int, rules: RuleSet) -> MatchRating:
    """R5: giving up costs the same at every rating, in every mode, and goes to the sink."""
    cost = rules.forfeit_milli_points
    return MatchRating((RatingChange(seat, ChangeKind.FORFEIT, -cost),), cost)


def rate_match(
    match: RatedMatch,
    outcome: Outcome,
    rules: RuleSet,
    meetings: Mapping[Pair, int] = NEVER_MET,
) -> MatchRating:
    """The changes at the end of a match; forfeits are not among them, they were rated at once (R5).

    ``meetings`` says how often two seats' players were rated against each other within
    ``meetings_window_ms`` before (R7); who is not named never was. A player who is rated has a
    change, even one of zero: it counts as a rated match (R1). Raises ``ContradictoryMatch`` if the
    match cannot have ended with ``outcome``.
    """
    require_outcome_fits(match, outcome)
    people = match.people_left()
    if isinstance(outcome, Voided) or not match.is_for_people_only():
        return UNRATED
    if match.is_private and rules.unrated_private_tables:
        return UNRATED
    if len(match.seats) == 2 and len(people) == 1:
        return _compensate(match, rules, meetings)
    if not isinstance(outcome, CanakWon | KlasikWon) or len(people) < 2:
        return UNRATED
    if match.mode is Mode.ESLI:
        return _rate_teams(match, outcome.winner_seat, rules, meetings)
    if outcome.winner_seat not in people:
        return UNRATED
    return _rate_pairs(match, outcome, rules, meetings)


def _rate_pairs(
    match: RatedMatch,
    outcome: CanakWon | KlasikWon,
    rules: RuleSet,
    meetings: Mapping[Pair, int],
) -> MatchRating:
    """R2: everybody who stayed, pair by pair."""
    people, opponents = match.people_left(), len(match.seats) - 1
    deltas, met = Counter(dict.fromkeys(people, 0)), list[Pair]()
    for seat, other, half_points in _pairings(people, outcome):
        pair = _pair(seat, other)
        whole = _duel(people[seat], people[other], half_points, opponents, rules)
        delta = _shrunk(whole, meetings, pair)
        deltas[seat] += delta
        deltas[other] -= delta
        met.append(pair)
    return _rated(deltas, met)


def _pair(seat: int, other: int) -> Pair:
    return (seat, other) if seat < other else (other, seat)


def _shrunk(delta_milli: int, meetings: Mapping[Pair, int], *pairs: Pair) -> int:
    """R7: the change divided by the number of the meeting, rounded towards zero.

    Two teams meet as often as those of their players who met most often.
    """
    number = 1 + max(meetings.get(pair, 0) for pair in pairs)
    magnitude = abs(delta_milli) // number
    return magnitude if delta_milli >= 0 else -magnitude


def _pairings(
    people: dict[int, Standing], outcome: CanakWon | KlasikWon
) -> Iterator[tuple[int, int, int]]:
    """Seat, other seat and the first one's half points (2 win, 1 tie, 0 loss): R2."""
    winner = outcome.winner_seat
    if isinstance(outcome, CanakWon):
        yield from ((winner, seat, 2) for seat in people if seat != winner)
        return
    # The winner's flag decides only between equals: the tie-break ranks its winner above the tied.
    ranks = {seat: (outcome.remaining_points[seat], seat == winner) for seat in people}
    for seat, other in combinations(people, 2):
        yield seat, other, 1 + (ranks[seat] > ranks[other]) - (ranks[seat] < ranks[other])


def _duel(
    player: Standing, other: Standing, half_points: int, opponents: int, rules: RuleSet
) -> int:
    """What ``player`` wins from ``other``: the mean of their K's, shared by opponents (R1, R2)."""
    lead = player.rating_milli - other.rating_milli
    k_sum = player.k(rules) + other.k(rules)
    return _gain(k_sum, 2 * opponents, half_points, expected_score(lead))


def _rate_teams(
    match: RatedMatch, winner: int, rules: RuleSet, meetings: Mapping[Pair, int]
) -> MatchRating:
    """R3: team mean against team mean at the mean K of all four, whoever of them left (R5).

    A finish wins for both partners, a house seat's too (M6), but a side that nobody is left of wins
    for the house (R4). Who gave up has paid already, and its share goes to the sink.
    """
    winners = {winner, partner_of(winner)}
    if winners.isdisjoint(match.people_left()):
        return UNRATED
    players = {seat: player for seat, player in enumerate(match.seats) if player is not None}
    lead = sum(
        player.standing.rating_milli * (1 if seat in winners else -1)
        for seat, player in players.items()
    )
    k_sum = sum(player.standing.k(rules) for player in players.values())
    whole = _gain(k_sum, len(players), 2, expected_score(lead, shared_by=len(winners)))
    met = [_pair(own, other) for own, other in product(winners, players.keys() - winners)]
    delta = _shrunk(whole, meetings, *met)
    deltas = {
        seat: delta if seat in winners else -delta
        for seat, player in players.items()
        if player.departure is not Departure.FORFEITED
    }
    return _rated(deltas, met)


def _compensate(match: RatedMatch, rules: RuleSet, meetings: Mapping[Pair, int]) -> MatchRating:
    """R5: who stayed in a match of two gets what the win would have brought, out of the sink.

    The special rule beside R4's "fewer than two people left", so it holds however the match ends.
    """
    ((stayed, standing),) = match.people_left().items()
    quitter = match.seats[1 - stayed]
    if quitter is None or quitter.departure is not Departure.FORFEITED:
        return UNRATED
    whole = min(_duel(standing, quitter.standing, 2, 1, rules), rules.forfeit_milli_points)
    gain = _shrunk(whole, meetings, (0, 1))
    change = RatingChange(stayed, ChangeKind.COMPENSATION, gain)
    return MatchRating((change,), -gain, met=((0, 1),))


def _gain(k_sum: int, k_divisor: int, half_points: int, expected: int) -> int:
    """K × (score − expected) in milli-points, for K = ``k_sum / k_divisor``.

    Rounded towards zero: the other side's change is exactly the opposite, and three lost pairings
    of a third of K each can never add up to more than K.
    """
    surplus = half_points * SCORE_UNIT // 2 - expected
    magnitude = k_sum * MILLI * abs(surplus) // (k_divisor * SCORE_UNIT)
    return magnitude if surplus >= 0 else -magnitude


def _rated(deltas: dict[int, int], met: list[Pair]) -> MatchRating:
    changes = tuple(RatingChange(seat, ChangeKind.MATCH, delta) for seat, delta in deltas.items())
    return MatchRating(changes, -sum(deltas.values()), met=tuple(sorted(met)))
