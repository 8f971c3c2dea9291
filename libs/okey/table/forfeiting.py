"""Giving up, claiming a match, coming back to a seat that a stand-in minds (U7..U9, K9, M8, M9)."""

from okey.money.outcome import KlasikWin
from okey.table import events as e
from okey.table.checks import seat_owned_by, why_not_claim
from okey.table.draft import Draft
from okey.table.ending import cut_short, end_if_house_wins, end_if_one_contends, end_match
from okey.table.errors import (
    NoMatchRunning,
    NotAway,
    NothingToGiveUp,
    ReturnTooLate,
    TurnExpired,
)
from okey.table.reasons import ForfeitReason
from okey.table.state import Phase

MATCH_PHASES = (Phase.PLAYING, Phase.PAUSE)


def forfeit(draft: Draft, player: str) -> None:
    """M9: possible at any time of a match, out of turn and in pauses too. Raises why not."""
    seat = seat_owned_by(draft.state, player)
    if draft.state.phase not in MATCH_PHASES:
        raise NoMatchRunning(
            f"the table is {draft.state.phase.name}: nothing to give up; LeaveSeat is free (W2)"
        )
    contending = draft.match.contenders
    if contending and seat not in contending:
        raise NothingToGiveUp(f"seat {seat} is out of the tie-break; LeaveSeat is free (K6)")
    give_up_seat(draft, seat, ForfeitReason.GAVE_UP, is_penalised=True)


def abandon(draft: Draft, seat: int) -> None:
    """U9: nobody came back in time; a forfeit where the rule set says so."""
    is_penalised = draft.rules.abandonment_is_forfeit
    give_up_seat(draft, seat, ForfeitReason.ABANDONED, is_penalised=is_penalised)


def give_up_seat(draft: Draft, seat: int, reason: ForfeitReason, *, is_penalised: bool) -> None:
    """The seat is the house's from here on; the match ends if no person can win any more (M8).

    In its turn the AI has its own time (U10), but never more than was left of the turn's (U4, U8).
    """
    player = draft.state.seats[seat].player
    deadline_ms = 0
    if is_to_move(draft, seat):
        deadline_ms = min(draft.turn.deadline_ms, draft.now_ms + draft.rules.house_turn_ms)
    draft.emit(
        e.SeatForfeited(draft.match.match_id, seat, player, reason, is_penalised, deadline_ms)
    )
    if not end_if_one_contends(draft):
        end_if_house_wins(draft)


def claim(draft: Draft, player: str) -> None:
    """K9: the last person left ends the match as its winner, at any moment. Raises why not."""
    seat = seat_owned_by(draft.state, player)
    if draft.state.phase not in MATCH_PHASES:
        raise NoMatchRunning(f"the table is {draft.state.phase.name}: there is no match to claim")
    refusal = why_not_claim(draft.state, seat)
    if refusal is not None:
        raise refusal()
    _check_back_in_time(draft, seat)
    draft.emit(e.MatchClaimed(seat))
    cut_short(draft)
    end_match(draft, KlasikWin(seat))


def is_to_move(draft: Draft, seat: int) -> bool:
    """Whether it is the seat's turn."""
    return draft.state.round is not None and draft.turn.seat == seat


def return_to_seat(draft: Draft, player: str) -> None:
    """U8: ends the 90 s at once, in mid-turn too, with at least a little of the turn's clock."""
    seat = seat_owned_by(draft.state, player)
    if not draft.state.seats[seat].away_deadline_ms:
        raise NotAway(f"no stand-in minds seat {seat}: its player is at the table (U8)")
    _check_in_time(draft, seat)
    deadline_ms = 0
    if is_to_move(draft, seat):
        least_ms = draft.now_ms + draft.rules.returned_turn_min_ms
        deadline_ms = max(draft.turn.deadline_ms, least_ms)
    draft.emit(e.PlayerReturned(seat, deadline_ms))


def _check_back_in_time(draft: Draft, seat: int) -> None:
    """U9, U12: the time to come back that has run out counts, also before it has rung."""
    deadline_ms = draft.state.seats[seat].away_deadline_ms
    if deadline_ms and draft.now_ms >= deadline_ms:
        raise ReturnTooLate(
            f"seat {seat} was to be taken back {draft.now_ms - deadline_ms} ms ago; "
            "it is given up (U9)"
        )


def _check_in_time(draft: Draft, seat: int) -> None:
    """U9, U12: a clock that has run out counts, also before it has rung."""
    _check_back_in_time(draft, seat)
    if is_to_move(draft, seat) and draft.now_ms >= draft.turn.deadline_ms:
        raise TurnExpired(
            f"turn {draft.turn.number} of seat {seat} has run out; come back in its next (U12)"
        )
