"""Section 8 of the rules: what a match does to ratings, as pure integer arithmetic."""

from okey.rating.expected_score import expected_score
from okey.rating.match import (
    CanakWon,
    ContradictoryMatch,
    Departure,
    Drawn,
    HouseWon,
    KlasikWon,
    Outcome,
    Participant,
    RatedMatch,
    Voided,
)
from okey.rating.rate import MatchRating, Pair, RatingChange, rate_forfeit, rate_match
from okey.rating.season import DEFAULT_KEEP_PERCENT, soft_reset
from okey.rating.standing import ChangeKind, Ladder, Sink, Standing, starting_standing

__all__ = [
    "DEFAULT_KEEP_PERCENT",
    "CanakWon",
    "ChangeKind",
    "ContradictoryMatch",
    "Departure",
    "Drawn",
    "HouseWon",
    "KlasikWon",
    "Ladder",
    "MatchRating",
    "Outcome",
    "Pair",
    "Participant",
    "RatedMatch",
    "RatingChange",
    "Sink",
    "Standing",
    "Voided",
    "expected_score",
    "rate_forfeit",
    "rate_match",
    "soft_reset",
    "starting_standing",
]
