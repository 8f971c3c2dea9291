"""What one may see of an event: hidden tiles, nonces and seeds never pass (T9, H8).

Most events are public as they are; the ones that hold something hidden have a public twin here.
Every event type is listed, so that a new one is refused until somebody has decided who may see what
of it.
"""

from dataclasses import dataclass
from typing import Final

from okey.rules.deal import stock_count
from okey.rules.finish import FinishKind
from okey.rules.tile import Tile, okey_of
from okey.table import events as e
from okey.table.commands import DrawSource, Timer
from okey.table.config import TableConfig
from okey.table.reasons import CloseReason, RoundResult, VoidReason
from okey.table.view import SPECTATOR

REVEALED: Final = -2
"""The viewer of a finished round: its seed is published, so everything of it is public."""


@dataclass(frozen=True, slots=True)
class PublicTableOpened:
    """The table exists; ``commitment`` binds the server to the seed of its first round (T9)."""

    config: TableConfig
    commitment: bytes
    idle_deadline_ms: int
    house_fill_deadline_ms: int


@dataclass(frozen=True, slots=True)
class PublicSeatDeclined:
    """The stake was declined; ``reason`` is empty for everybody but the player."""

    seat: int
    player: str
    reason: str
    idle_deadline_ms: int


@dataclass(frozen=True, slots=True)
class PublicNonceAdded:
    """The seat added its nonce; which, is shown with the deal."""

    seat: int


@dataclass(frozen=True, slots=True)
class PublicRoundDealt:
    """The deal: the viewer's own rack only, the others' empty; ``stock`` empty until the round is
    over.
    """

    round_no: int
    playing: tuple[int, ...]
    dealer: int
    starter: int
    gosterge: Tile
    okey: Tile
    racks: tuple[tuple[Tile, ...], ...]
    stock: tuple[Tile, ...]
    stock_count: int
    nonces: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class PublicTileDrawn:
    """A draw; ``tile`` is None where it came from the stock and the viewer is another seat."""

    seat: int
    source: DrawSource
    tile: Tile | None
    is_neutral: bool


@dataclass(frozen=True, slots=True)
class PublicRoundEnded:
    """The round is over: ``revealed`` is its seed, ``commitment`` that of the next round (T9)."""

    round_no: int
    result: RoundResult
    seat: int
    finish: FinishKind | None
    laid: Tile | None
    racks: tuple[tuple[Tile, ...], ...]
    revealed: bytes
    commitment: bytes


@dataclass(frozen=True, slots=True)
class PublicMatchVoided:
    """Every stake goes back; ``revealed`` is the seed that is never used again, empty where the key
    to it was lost (M10, T9).
    """

    match_id: str
    reason: VoidReason
    revealed: bytes
    commitment: bytes
    kasa: int


@dataclass(frozen=True, slots=True)
class PublicTableTakenOver:
    """A new owner has the table; ``commitment`` is that of a seed in place of one whose key was
    lost, else empty (T9).
    """

    timers: tuple[Timer, ...]
    commitment: bytes


@dataclass(frozen=True, slots=True)
class PublicTableClosed:
    """Nothing happens here any more."""

    reason: CloseReason


OpenEvent = (
    e.SeatRequested
    | e.SeatPaid
    | e.SeatVacated
    | e.HouseSeated
    | e.CountdownStarted
    | e.CountdownCancelled
    | e.MatchStartRequested
    | e.LeaveRequested
    | e.MatchStartDeclined
    | e.MatchStarted
    | e.TurnStarted
    | e.TileDiscarded
    | e.CiftAnnounced
    | e.CiftWithdrawn
    | e.GostergeShown
    | e.PointsTaken
    | e.TurnTimedOut
    | e.StandInSeated
    | e.PlayerReturned
    | e.SeatForfeited
    | e.TieBreakStarted
    | e.MatchClaimed
    | e.PauseStarted
    | e.MatchEnded
    | e.SettlementConfirmed
    | e.NachspielStarted
    | e.NachspielEnded
)
"""The events that hold nothing hidden."""

PublicEvent = (
    OpenEvent
    | PublicTableOpened
    | PublicSeatDeclined
    | PublicNonceAdded
    | PublicRoundDealt
    | PublicTileDrawn
    | PublicRoundEnded
    | PublicMatchVoided
    | PublicTableTakenOver
    | PublicTableClosed
)


def public_event(event: e.Event, viewer: int) -> PublicEvent:
    """What ``viewer`` (a seat, SPECTATOR or REVEALED) may see of the event."""
    match event:
        case e.TableOpened(config, sealed, idle, fill):
            return PublicTableOpened(config, sealed.commitment, idle, fill)
        case e.SeatDeclined(seat, player, _, reason, idle):
            return PublicSeatDeclined(seat, player, reason if viewer == seat else "", idle)
        case e.NonceAdded(seat, _):
            return PublicNonceAdded(seat)
        case e.RoundDealt():
            return _public_deal(event, viewer)
        case e.TileDrawn(seat, source, tile, is_neutral):
            is_seen = source is DrawSource.DISCARD or viewer in (seat, REVEALED)
            return PublicTileDrawn(seat, source, tile if is_seen else None, is_neutral)
        case e.RoundEnded():
            return PublicRoundEnded(
                event.round_no,
                event.result,
                event.seat,
                event.finish,
                event.laid,
                event.racks,
                event.revealed,
                event.sealed.commitment,
            )
        case e.MatchVoided(match_id, reason, _, _, revealed, sealed, kasa):
            return PublicMatchVoided(match_id, reason, revealed, sealed.commitment, kasa)
        case e.TableTakenOver(_, timers, sealed):
            return PublicTableTakenOver(timers, sealed.commitment if sealed is not None else b"")
        case e.TableClosed(reason):
            return PublicTableClosed(reason)
        case _:
            return event


def is_privy(event: e.Event, viewer: int) -> bool:
    """Whether ``viewer`` may see more of the event than spectators do; all others see it alike."""
    match event:
        case e.RoundDealt():
            return viewer != SPECTATOR
        case e.TileDrawn(seat, source):
            return source is DrawSource.STOCK and viewer in (seat, REVEALED)
        case e.SeatDeclined(seat):
            return viewer == seat
        case _:
            return False


def _public_deal(event: e.RoundDealt, viewer: int) -> PublicRoundDealt:
    is_all_seen = viewer == REVEALED
    return PublicRoundDealt(
        event.round_no,
        event.playing,
        event.dealer,
        event.starter,
        event.gosterge,
        okey_of(event.gosterge),
        tuple(
            rack if is_all_seen or seat == viewer else () for seat, rack in enumerate(event.racks)
        ),
        event.stock if is_all_seen else (),
        stock_count(len(event.playing)),
        event.nonces,
    )


__all__ = ["REVEALED", "SPECTATOR", "PublicEvent", "is_privy", "public_event"]
