"""Commands: what players, the lobby, the wallet's answers, timers and operators ask of a table.

Time and seeds come in with the :class:`Context`, so that deciding is a function of its arguments
alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from okey.rules.deal import commit
from okey.rules.tile import Tile
from okey.table.config import TableConfig


class DrawSource(IntEnum):
    """Where a tile is drawn from (U1); the numbers are those of the protobuf enum."""

    STOCK = 1
    DISCARD = 2


class TimerKind(IntEnum):
    """The clocks that a table may have running."""

    TURN = 1
    AWAY = 2
    COUNTDOWN = 3
    ROUND_PAUSE = 4
    NACHSPIEL = 5
    IDLE = 6
    HOUSE_FILL = 7


@dataclass(frozen=True, slots=True)
class Timer:
    """One running clock, due at ``deadline_ms``; ``seat`` is -1 where it is the table's own."""

    kind: TimerKind
    deadline_ms: int
    seat: int = -1


@dataclass(frozen=True, slots=True)
class SealedSeed:
    """A server seed of 32 bytes with the commitment that is published before it is used (T9)."""

    seed: bytes
    commitment: bytes


def seal(seed: bytes) -> SealedSeed:
    """Pair a fresh seed with its commitment, SHA-256(seed)."""
    return SealedSeed(seed, commit(seed))


@dataclass(frozen=True, slots=True)
class Context:
    """What the world adds to a command: the time it arrived, and a seed for the round after this
    one. Few commands need one, so it is drawn when it is asked for.
    """

    now_ms: int
    fresh: Callable[[], SealedSeed]


# Moves of a turn


@dataclass(frozen=True, slots=True)
class Draw:
    """Take the top of the stock, or the predecessor's topmost discard (U1)."""

    source: DrawSource


@dataclass(frozen=True, slots=True)
class Discard:
    """Lay one tile face-up on one's own pile; ends the turn (U1)."""

    tile: Tile


@dataclass(frozen=True, slots=True)
class Finish:
    """Lay one tile on the gösterge and have the other 14 judged (H7)."""

    tile: Tile


@dataclass(frozen=True, slots=True)
class AnnounceCift:
    """Announce that one plays for seven pairs (H10)."""


@dataclass(frozen=True, slots=True)
class WithdrawCift:
    """Take the announcement back (H11)."""


@dataclass(frozen=True, slots=True)
class ShowGosterge:
    """Show the second copy of the gösterge (K3)."""


Action = Draw | Discard | Finish | AnnounceCift | WithdrawCift | ShowGosterge


@dataclass(frozen=True, slots=True)
class PlayerMove:
    """A person's action in the turn ``turn`` (U12)."""

    player: str
    turn: int
    action: Action


@dataclass(frozen=True, slots=True)
class BotMove:
    """An AI's action for a house seat or a stand-in (W4, U8)."""

    seat: int
    turn: int
    action: Action


@dataclass(frozen=True, slots=True)
class NeutralMove:
    """No answer came from an AI in time: play the neutral move for its seat (U10)."""

    seat: int
    turn: int


# Sitting down, leaving, coming back


@dataclass(frozen=True, slots=True)
class OpenTable:
    """Make the table; ``player`` takes seat 0 (W1)."""

    config: TableConfig
    player: str


@dataclass(frozen=True, slots=True)
class TakeSeat:
    """Sit down on ``seat``, or on the first free one if it is -1."""

    player: str
    seat: int = -1


@dataclass(frozen=True, slots=True)
class LeaveSeat:
    """Leave before the match starts or after it ended; always free (W2, M1)."""

    player: str


@dataclass(frozen=True, slots=True)
class PlayOn:
    """Stay for the Nachspiel and pay the stake again (Ç8)."""

    player: str


@dataclass(frozen=True, slots=True)
class AddNonce:
    """Add 32 bytes of one's own to the coming shuffle (T9)."""

    player: str
    nonce: bytes


@dataclass(frozen=True, slots=True)
class Forfeit:
    """Give the running match up (M9)."""

    player: str


@dataclass(frozen=True, slots=True)
class ClaimMatch:
    """End a Klasik match as its winner, where everybody else gave up (K9)."""

    player: str


@dataclass(frozen=True, slots=True)
class ReturnToSeat:
    """Take one's seat back from its stand-in (U8)."""

    player: str


# The wallet's answers, clocks, operators


@dataclass(frozen=True, slots=True)
class ConfirmHold:
    """The wallet holds the stake."""

    hold_id: str


@dataclass(frozen=True, slots=True)
class DeclineHold:
    """The wallet declined to hold the stake; ``reason`` is its ErrorInfo reason."""

    hold_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ConfirmStart:
    """The wallet committed the start of the match (M2)."""

    match_id: str


@dataclass(frozen=True, slots=True)
class DeclineStart:
    """The wallet declined the start, because these holds are void."""

    match_id: str
    void_hold_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfirmSettlement:
    """The wallet settled the match."""

    match_id: str


@dataclass(frozen=True, slots=True)
class Expire:
    """A clock ran out; names the clock with its deadline, so that a clock set anew is not meant."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class VoidMatch:
    """An operator voids the running match (M10)."""

    operator: str
    reason: str


@dataclass(frozen=True, slots=True)
class VoidTable:
    """An operator ends the table: the running match is voided, every stake goes back (M10)."""

    operator: str
    reason: str


@dataclass(frozen=True, slots=True)
class TakeOver:
    """An engine takes the table; its old owner was last alive at ``last_renewal_ms``."""

    engine: str
    last_renewal_ms: int


TableCommand = (
    PlayerMove
    | BotMove
    | NeutralMove
    | TakeSeat
    | LeaveSeat
    | PlayOn
    | AddNonce
    | Forfeit
    | ClaimMatch
    | ReturnToSeat
)
"""What people and AIs ask of a table that is open."""

PlatformCommand = (
    ConfirmHold
    | DeclineHold
    | ConfirmStart
    | DeclineStart
    | ConfirmSettlement
    | Expire
    | VoidMatch
    | VoidTable
    | TakeOver
)
"""What the wallet, the clocks, operators and engines ask of it."""

Command = OpenTable | TableCommand | PlatformCommand
