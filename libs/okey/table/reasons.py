"""How and why seats, rounds, matches and tables end: the words that events use."""

from enum import IntEnum


class VacateReason(IntEnum):
    """Why a seat became free."""

    LEFT = 1
    SILENT = 2  # no answer in the Nachspiel (Ç9)
    IDLE = 3  # the table closed for idling (W1)
    START_DECLINED = 4  # the wallet found the hold void
    LEFT_LATE = 5  # once everybody had paid (W2)
    VOIDED = 6  # an operator ended the table (M10)


class ForfeitReason(IntEnum):
    """How a seat was given up."""

    GAVE_UP = 1  # M9
    ABANDONED = 2  # U9: 90 s without coming back


class RoundResult(IntEnum):
    """How a round ended."""

    WON = 1
    STOCK_EMPTY = 2  # U11
    NO_STOCK_DRAWS = 3  # U14
    CUT_SHORT = 4  # the match ended in the middle of it (K4, M8)
    VOIDED = 5  # M10


class OutcomeKind(IntEnum):
    """How a match ended."""

    CANAK_WIN = 1
    CANAK_DRAW = 2
    KLASIK_WIN = 3
    KLASIK_DRAW = 4  # K10
    HOUSE_WIN = 5  # M8


class CloseReason(IntEnum):
    """Why a table closed."""

    MATCH_OVER = 1  # K11
    KASA_WON = 2  # Ç10
    NO_PEOPLE = 3  # Ç10
    IDLE = 4  # W1
    VOIDED = 5  # M10


class VoidReason(IntEnum):
    """Why a match was voided."""

    LEFT_BEFORE_DEAL = 1  # W2
    OPERATOR = 2  # M10
    KEY_LOST = 3  # M10: the running round cannot be decrypted any more


class Departure(IntEnum):
    """Whether a player stayed to the end of a match."""

    STAYED = 1
    FORFEITED = 2  # M9, U9: with its penalty
    EXCUSED = 3  # U9 where the rule set does not penalise staying away
