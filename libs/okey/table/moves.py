"""A turn's moves: draw, discard, finish, çift, gösterge; by people, by AIs, and the neutral move
(U1..U12, H7..H12).
"""

from typing import assert_never

from okey.rules.distance import distance_to_cift, distance_to_normal
from okey.rules.finish import judge_finish
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table import events as e
from okey.table.checks import seat_owned_by, why_not
from okey.table.draft import Draft
from okey.table.ending import end_turn, round_won, take_points
from okey.table.errors import (
    NotPlayedByAi,
    NotYourTurn,
    SeatMinded,
    StandInMayNot,
    TurnExpired,
    TurnOver,
)


def player_move(draft: Draft, player: str, turn: int, action: c.Action) -> None:
    """A person's move. Raises why not; a rejected finish is no event (H8)."""
    seat = seat_owned_by(draft.state, player)
    _check_turn(draft, seat, turn)
    if draft.state.seats[seat].is_ai_played:
        raise SeatMinded(f"a stand-in plays seat {seat}; ReturnToSeat first (U8)")
    _act(draft, seat, action)


def bot_move(draft: Draft, seat: int, turn: int, action: c.Action) -> None:
    """An AI's move for a house seat or a stand-in (W4, U8). Raises why not."""
    _check_ai_turn(draft, seat, turn)
    if draft.state.seats[seat].house is None:
        _check_stand_in(draft, seat, action)
    _act(draft, seat, action)


def neutral_move(draft: Draft, seat: int, turn: int) -> None:
    """U10: the AI gave no answer in time."""
    _check_ai_turn(draft, seat, turn)
    play_neutral(draft)


def _check_ai_turn(draft: Draft, seat: int, turn: int) -> None:
    _check_turn(draft, seat, turn)
    if not draft.state.seats[seat].is_ai_played:
        raise NotPlayedByAi(f"seat {seat} is played by its player, not by an AI")


def _check_turn(draft: Draft, seat: int, turn: int) -> None:
    """U12: the move is for the turn being played, by its seat, before its deadline."""
    running = draft.state.round
    if running is None or running.turn is None or running.turn.number != turn:
        now = "none" if running is None or running.turn is None else running.turn.number
        raise TurnOver(f"the move is for turn {turn}; the turn being played is {now} (U12)")
    if running.turn.seat != seat:
        raise NotYourTurn(f"turn {turn} is seat {running.turn.seat}'s, not seat {seat}'s (U1)")
    if draft.now_ms >= running.turn.deadline_ms:
        late_ms = draft.now_ms - running.turn.deadline_ms
        raise TurnExpired(f"turn {turn} ended {late_ms} ms ago; the time-out counts (U12)")


def _act(draft: Draft, seat: int, action: c.Action) -> None:
    refusal = why_not(draft.state, seat, action)
    if refusal is not None:
        raise refusal()
    match action:
        case c.Draw(source):
            _draw(draft, source, is_neutral=False)
        case c.Discard(tile):
            _discard(draft, tile, is_neutral=False)
        case c.Finish(tile):
            _finish(draft, seat, tile)
        case c.AnnounceCift():
            draft.emit(e.CiftAnnounced(seat))
        case c.WithdrawCift():
            draft.emit(e.CiftWithdrawn(seat))
        case c.ShowGosterge():
            draft.emit(e.GostergeShown(seat))
            take_points(draft, seat, draft.rules.gosterge_points)
        case _:
            assert_never(action)


def _draw(draft: Draft, source: c.DrawSource, *, is_neutral: bool) -> None:
    running, seat = draft.round, draft.turn.seat
    if source is c.DrawSource.STOCK:
        tile = running.stock[0]
    else:
        tile = running.hands[running.previous_seat(seat)].pile[-1]
    draft.emit(e.TileDrawn(seat, source, tile, is_neutral))


def _discard(draft: Draft, tile: Tile, *, is_neutral: bool) -> None:
    draft.emit(e.TileDiscarded(draft.turn.seat, tile, is_neutral))
    end_turn(draft)


def _finish(draft: Draft, seat: int, laid: Tile) -> None:
    running = draft.round
    hand = running.hands[seat]
    finish = judge_finish(hand.rack, laid, running.okey, announced=hand.announced_at > 0)
    round_won(draft, seat, finish, laid)


def play_neutral(draft: Draft) -> None:
    """U5, U6: draw from the stock unless drawn already, and discard exactly that tile."""
    if draft.turn.drawn is None:
        _draw(draft, c.DrawSource.STOCK, is_neutral=True)
    drawn = draft.turn.drawn
    assert drawn is not None, "a neutral move has drawn"
    _discard(draft, drawn, is_neutral=True)


def _check_stand_in(draft: Draft, seat: int, action: c.Action) -> None:
    """U8: a stand-in only draws and discards, and leaves the hand no further from a finish."""
    match action:
        case c.Draw():
            return
        case c.Discard(tile):
            _check_no_worse(draft, seat, tile)
        case _:
            raise StandInMayNot(f"{type(action).__name__}: a stand-in only draws and discards (U8)")


def _check_no_worse(draft: Draft, seat: int, tile: Tile) -> None:
    drawn, hand = draft.turn.drawn, draft.round.hands[seat]
    if drawn is None or tile not in hand.rack:
        return  # refused as any seat's move would be
    before, after = (_distance_without(draft, seat, each) for each in (drawn, tile))
    if after > before:
        raise StandInMayNot(
            f"discarding {tile} takes the hand from {before} to {after} tiles away (U8)"
        )


def _distance_without(draft: Draft, seat: int, tile: Tile) -> int:
    """How far the other 14 tiles are from a finish that would count (H12, H13)."""
    running = draft.round
    hand = running.hands[seat]
    rack = list(hand.rack)
    rack.remove(tile)
    to_cift = distance_to_cift(tuple(rack), running.okey)
    if hand.announced_at:
        return to_cift
    return min(to_cift, distance_to_normal(tuple(rack), running.okey))
