"""What kinds of table there are: variant, mode, level of the house's bots (Ç0, K1, O1, O2, W4)."""

from enum import IntEnum
from typing import Final


class Variant(IntEnum):
    """How a match is scored; the numbers are those of ``okey.api.common.v1.Variant``."""

    CANAK = 1
    KLASIK = 2


class Mode(IntEnum):
    """Who plays against whom; SOLO and ESLI exist in Çanak only (K1, O1, O2)."""

    NORMAL = 1
    SOLO = 2
    ESLI = 3


class BotLevel(IntEnum):
    """How well an AI plays; stand-ins and given-up seats are always NORMAL (W4)."""

    EASY = 1
    NORMAL = 2
    STRONG = 3


def partner_of(seat: int) -> int:
    """The seat opposite at a table of four: 0+2 and 1+3 are partners (O2)."""
    return (seat + 2) % 4


HOUSE_SEAT_LEVEL: Final = BotLevel.NORMAL
"""W4: how well stand-ins, given-up seats and fill-in bots play."""
