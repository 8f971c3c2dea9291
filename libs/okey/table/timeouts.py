"""What happens when a clock of the table runs out (U5..U9, U12, U13, W1, W5, Ç9)."""

from typing import assert_never

from okey.table import events as e
from okey.table.commands import Timer, TimerKind
from okey.table.draft import Draft
from okey.table.errors import TimerStale
from okey.table.forfeiting import abandon
from okey.table.moves import play_neutral
from okey.table.nachspiel import end_nachspiel
from okey.table.seating import close_idle, fill_with_house
from okey.table.starting import deal_round, request_start
from okey.table.state import running_timers


def expire(draft: Draft, timer: Timer) -> None:
    """The named clock ran out. Raises ``TimerStale`` unless exactly that clock runs and is due
    (U12).
    """
    if timer not in running_timers(draft.state):
        raise TimerStale(
            f"no {timer.kind.name} clock of seat {timer.seat} is due at {timer.deadline_ms}"
        )
    if draft.now_ms < timer.deadline_ms:
        raise TimerStale(f"{timer.kind.name} is due in {timer.deadline_ms - draft.now_ms} ms")
    match timer.kind:
        case TimerKind.TURN:
            _expire_turn(draft)
        case TimerKind.AWAY:
            abandon(draft, timer.seat)
        case TimerKind.COUNTDOWN:
            request_start(draft)
        case TimerKind.ROUND_PAUSE:
            deal_round(draft)
        case TimerKind.NACHSPIEL:
            end_nachspiel(draft)
        case TimerKind.IDLE:
            close_idle(draft)
        case TimerKind.HOUSE_FILL:
            fill_with_house(draft)
        case _:
            assert_never(timer.kind)


def _expire_turn(draft: Draft) -> None:
    """U5, U7, U10: the seat plays neutrally; a person's second time a stand-in takes it.

    Who came back into a turn (U8) and lets it run out again does not hold it up any longer: it is
    played neutrally at once.
    """
    seat, is_again = draft.turn.seat, draft.turn.has_timed_out
    if draft.state.seats[seat].is_ai_played:
        play_neutral(draft)
        return
    count = draft.round.hands[seat].timeouts + 1
    draft.emit(e.TurnTimedOut(seat, count))
    if count < draft.rules.away_timeouts:
        play_neutral(draft)
        return
    now_ms, rules = draft.now_ms, draft.rules
    away_ms, turn_ms = now_ms + rules.away_timeout_ms, now_ms + rules.house_turn_ms
    draft.emit(e.StandInSeated(seat, away_ms, turn_ms))
    if is_again:
        play_neutral(draft)
