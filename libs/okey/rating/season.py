"""What a soft reset leaves of a rating when a player enters a new season."""

from typing import Final

from okey.rating.standing import Standing

DEFAULT_KEEP_PERCENT: Final = 50
"""How much of the distance to the starting rating stays, unless an operator says otherwise."""


def soft_reset(standing: Standing, towards_milli: int, keep_percent: int) -> Standing:
    """The standing at the start of a season: ``keep_percent`` of the distance to ``towards_milli``
    stays, rounded towards it.

    Nobody passes anybody by it. The rated matches stay, so nobody is new again: R1 counts the first
    20 of a ladder, not of a season.
    """
    distance = standing.rating_milli - towards_milli
    kept = abs(distance) * keep_percent // 100
    return Standing(towards_milli + (kept if distance >= 0 else -kept), standing.rated_matches)
