"""The unit of ratings: a milli-point is a thousandth of a rating point, an integer (R1)."""

from typing import Final

MILLI: Final = 1_000
