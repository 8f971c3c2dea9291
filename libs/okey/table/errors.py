"""Why a table refuses a command; a refused command changes nothing."""

from okey.errors import AlreadyExists, Forbidden, InvalidInput, NotFound, Refused


class TableExists(AlreadyExists):
    """OpenTable for a table that is there."""

    reason = "TABLE_EXISTS"


class TableNotFound(NotFound):
    """A command for a table that was never opened."""

    reason = "TABLE_NOT_FOUND"


class TableIsClosed(Refused):
    """The table is closed."""

    reason = "TABLE_CLOSED"


class NotSeated(Forbidden):
    """The player owns no seat here: spectators and former owners do not act."""

    reason = "NOT_SEATED"


class AlreadySeated(Refused):
    """The player sits here already."""

    reason = "ALREADY_SEATED"


class NoSuchSeat(InvalidInput):
    """A seat number that the table does not have."""

    reason = "NO_SUCH_SEAT"


class SeatTaken(Refused):
    """The chosen seat is not free."""

    reason = "SEAT_TAKEN"


class NoFreeSeat(Refused):
    """Every seat is taken."""

    reason = "NO_FREE_SEAT"


class LeftBeforeStart(Refused):
    """The player left this table when everybody had paid, and no round was dealt since (W2)."""

    reason = "LEFT_BEFORE_START"


class ReturnTooLate(Refused):
    """The time to come back has run out; the seat is being given up (U9)."""

    reason = "RETURN_TOO_LATE"


class SeatsNotOpen(Refused):
    """Nobody can sit down in this phase."""

    reason = "SEATS_NOT_OPEN"


class MatchRunning(Refused):
    """One cannot simply leave a running match (W2)."""

    reason = "MATCH_RUNNING"


class NoMatchRunning(Refused):
    """The command needs a running match."""

    reason = "NO_MATCH_RUNNING"


class NothingToGiveUp(Refused):
    """The seat is out of the tie-break: it leaves freely (K6)."""

    reason = "NOTHING_TO_GIVE_UP"


class ClaimNotOpen(Refused):
    """ClaimMatch where the player is not the last person of a Klasik match (K9)."""

    reason = "CLAIM_NOT_OPEN"


class NotDeciding(Refused):
    """PlayOn outside the Nachspiel, or when it was said already (Ç9)."""

    reason = "NOT_DECIDING"


class NotAway(Refused):
    """ReturnToSeat for a seat that no stand-in minds (U8)."""

    reason = "NOT_AWAY"


class InvalidNonce(InvalidInput):
    """A nonce that is not 32 bytes (T9)."""

    reason = "INVALID_NONCE"


class NonceAlreadyAdded(Refused):
    """A nonce is never replaced (T9)."""

    reason = "NONCE_ALREADY_ADDED"


class NonceTooLate(Refused):
    """The round is dealt, or the seat does not play in the next one (T9)."""

    reason = "NONCE_TOO_LATE"


class TurnOver(Refused):
    """The move names a turn that is not being played (U12)."""

    reason = "TURN_OVER"


class TurnExpired(Refused):
    """The move came after the turn's deadline; the timer counts (U12)."""

    reason = "TURN_EXPIRED"


class NotYourTurn(Refused):
    """Another seat is to move."""

    reason = "NOT_YOUR_TURN"


class SeatMinded(Refused):
    """A stand-in plays the seat; come back first (U8)."""

    reason = "STAND_IN_PLAYS"


class NotPlayedByAi(Refused):
    """An AI's move for a seat that its player plays."""

    reason = "NOT_PLAYED_BY_AI"


class StandInMayNot(Refused):
    """A stand-in only draws and discards, and never worsens the hand (U8)."""

    reason = "STAND_IN_MAY_NOT"


class AlreadyDrawn(Refused):
    """One draw a turn; the starter's fifteenth tile counts as drawn (U1, U2)."""

    reason = "ALREADY_DRAWN"


class MustDrawFirst(Refused):
    """A discard or a finish needs 15 tiles (U1, H7)."""

    reason = "MUST_DRAW_FIRST"


class PileEmpty(Refused):
    """The predecessor has no discard to take (U1)."""

    reason = "PILE_EMPTY"


class TileNotInRack(Refused):
    """The seat does not hold the tile."""

    reason = "TILE_NOT_IN_RACK"


class CiftNotOpen(Refused):
    """Announcing or withdrawing çift outside its turns (H10, H11)."""

    reason = "CIFT_NOT_OPEN"


class GostergeNotOpen(Refused):
    """The gösterge cannot be shown now (K3)."""

    reason = "GOSTERGE_NOT_OPEN"


class NotContending(Refused):
    """A house seat that does not contend does not finish a tie-break (K9)."""

    reason = "NOT_CONTENDING"


class TimerStale(Refused):
    """The clock named is not running, or not due: it was set anew, stopped, or the move came first
    (U12).
    """

    reason = "TIMER_STALE"
