"""What a seat may do now, so that frontends and bots need no rules of their own."""

from collections.abc import Iterator
from enum import IntEnum

from okey.table.checks import (
    Answer,
    why_not_announce,
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


def legal_actions(state: TableState, seat: int) -> tuple[LegalAction, ...]:
    """What the owner of ``seat`` (-1 for a spectator) may do now, in the enum's order.

    For a seat played by an AI these are the AI's moves as long as nobody asks for RETURN_TO_SEAT.
    """
    legal = [*_moves(state, seat), *_seating(state, seat)]
    return tuple(sorted(legal))


def _moves(state: TableState, seat: int) -> Iterator[LegalAction]:
    running = state.round
    if running is None or running.turn is None or running.turn.seat != seat:
        return
    answers: dict[LegalAction, Answer] = {
        LegalAction.DRAW_STOCK: why_not_draw(state, DrawSource.STOCK),
        LegalAction.DRAW_DISCARD: why_not_draw(state, DrawSource.DISCARD),
        LegalAction.DISCARD: why_not_lay(state),
    }
    if not state.seats[seat].away_deadline_ms:  # U8: a stand-in only draws and discards
        answers |= {
            LegalAction.FINISH: why_not_finish(state, seat),
            LegalAction.ANNOUNCE_CIFT: why_not_announce(state, seat),
            LegalAction.WITHDRAW_CIFT: why_not_withdraw(state, seat),
            LegalAction.SHOW_GOSTERGE: why_not_show(state, seat),
        }
    yield from (action for action, refusal in answers.items() if refusal is None)


def _seating(state: TableState, seat: int) -> Iterator[LegalAction]:
    if seat < 0:
        is_open = state.phase in (Phase.WAITING, Phase.NACHSPIEL)
        if is_open and any(each.status is SeatStatus.FREE for each in state.seats):
            yield LegalAction.TAKE_SEAT
        return
    own = state.seats[seat]
    if not own.is_person or state.is_done:
        return
    if state.phase in (Phase.PLAYING, Phase.PAUSE):
        contending = match_of(state).contenders
        is_out = bool(contending) and seat not in contending
        yield LegalAction.LEAVE if is_out else LegalAction.FORFEIT
    else:
        yield LegalAction.LEAVE
    if state.phase is Phase.NACHSPIEL and own.status is SeatStatus.DECIDING:
        yield LegalAction.PLAY_ON
    if why_not_nonce(state, seat) is None:
        yield LegalAction.ADD_NONCE
    if own.away_deadline_ms:
        yield LegalAction.RETURN_TO_SEAT
