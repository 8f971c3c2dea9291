"""What a seat may do now, so that frontends and bots need no rules of their own."""

from collections.abc import Callable
from enum import IntEnum
from typing import Final

from okey.table.checks import (
    Answer,
    why_not_announce,
    why_not_claim,
    why_not_draw,
    why_not_finish,
    why_not_lay,
    why_not_nonce,
    why_not_show,
    why_not_withdraw,
)
from okey.table.commands import DrawSource
from okey.table.evolve import match_of
from okey.table.state import Phase, SeatStatus, TableState


class LegalAction(IntEnum):
    """One thing the viewer may do now; FINISH says that a try is allowed, not that the hand is
    right (H8).
    """

    DRAW_STOCK = 1
    DRAW_DISCARD = 2
    DISCARD = 3
    FINISH = 4
    ANNOUNCE_CIFT = 5
    WITHDRAW_CIFT = 6
    SHOW_GOSTERGE = 7
    TAKE_SEAT = 8
    LEAVE = 9
    PLAY_ON = 10
    ADD_NONCE = 11
    FORFEIT = 12
    RETURN_TO_SEAT = 13
    CLAIM_MATCH = 14


def legal_actions(state: TableState, seat: int) -> tuple[LegalAction, ...]:
    """What the owner of ``seat`` (-1 for a spectator) may do now, in the enum's order.

    For a seat played by an AI these are the AI's moves as long as nobody asks for RETURN_TO_SEAT.
    """
    return tuple(sorted(_moves(state, seat) + _seating(state, seat)))


def _moves(state: TableState, seat: int) -> list[LegalAction]:
    running = state.round
    if running is None or running.turn is None or running.turn.seat != seat:
        return []
    asked = _STAND_INS if state.seats[seat].away_deadline_ms else _OWNERS
    return [action for action, why_not in asked if why_not(state, seat) is None]


_STAND_INS: Final[tuple[tuple[LegalAction, Callable[[TableState, int], Answer]], ...]] = (
    (LegalAction.DRAW_STOCK, lambda state, _: why_not_draw(state, DrawSource.STOCK)),
    (LegalAction.DRAW_DISCARD, lambda state, _: why_not_draw(state, DrawSource.DISCARD)),
    (LegalAction.DISCARD, lambda state, _: why_not_lay(state)),
)
"""U8: a stand-in only draws and discards."""
_OWNERS: Final = (
    *_STAND_INS,
    (LegalAction.FINISH, why_not_finish),
    (LegalAction.ANNOUNCE_CIFT, why_not_announce),
    (LegalAction.WITHDRAW_CIFT, why_not_withdraw),
    (LegalAction.SHOW_GOSTERGE, why_not_show),
)


def _seating(state: TableState, seat: int) -> list[LegalAction]:
    if seat < 0:
        return _of_spectators(state)
    own = state.seats[seat]
    if not own.is_person or state.is_done:
        return []
    legal = [LegalAction.LEAVE]
    if state.phase in _PLAYED:
        contending = match_of(state).contenders
        if not contending or seat in contending:
            legal = [LegalAction.FORFEIT]
        if why_not_claim(state, seat) is None:
            legal.append(LegalAction.CLAIM_MATCH)
    if state.phase is Phase.NACHSPIEL and own.status is SeatStatus.DECIDING:
        legal.append(LegalAction.PLAY_ON)
    if why_not_nonce(state, seat) is None:
        legal.append(LegalAction.ADD_NONCE)
    if own.away_deadline_ms:
        legal.append(LegalAction.RETURN_TO_SEAT)
    return legal


_PLAYED: Final = (Phase.PLAYING, Phase.PAUSE)


def _of_spectators(state: TableState) -> list[LegalAction]:
    is_open = state.phase in (Phase.WAITING, Phase.NACHSPIEL)
    if is_open and any(each.status is SeatStatus.FREE for each in state.seats):
        return [LegalAction.TAKE_SEAT]
    return []
