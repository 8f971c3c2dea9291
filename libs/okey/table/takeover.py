"""A new owner arms a table's clocks anew: an outage costs nobody time and gives nobody more than
the full time.
"""

from typing import assert_never

from okey.table import events as e
from okey.table.commands import Timer, TimerKind
from okey.table.draft import Draft
from okey.table.starting import turn_timeout_of
from okey.table.state import running_timers
from okey.table.voiding import void_lost


def take_over(draft: Draft, engine: str, last_renewal_ms: int) -> None:
    """Append the fence, with every running clock at what was left when the old owner last was
    alive.

    Where the key to a seed was lost, the round that was dealt from it cannot go on: its match is
    voided (M10). A seed that was not dealt from yet is replaced.
    """
    state = draft.state
    timers = tuple(_rearmed(draft, timer, last_renewal_ms) for timer in running_timers(state))
    is_unsealed = state.sealed is not None and not state.sealed.seed
    sealed = draft.context.fresh() if is_unsealed else None
    draft.emit(e.TableTakenOver(engine, timers, sealed))
    if state.round is not None and not state.round.seed:
        void_lost(draft)


def _rearmed(draft: Draft, timer: Timer, last_renewal_ms: int) -> Timer:
    left_ms = max(draft.rules.takeover_grace_ms, timer.deadline_ms - last_renewal_ms)
    return Timer(timer.kind, draft.now_ms + min(_full_ms(draft, timer), left_ms), timer.seat)


def _full_ms(draft: Draft, timer: Timer) -> int:
    """The longest that this clock ever runs."""
    rules = draft.rules
    match timer.kind:
        case TimerKind.TURN:
            return turn_timeout_of(draft, draft.state.seats[timer.seat].house is not None)
        case TimerKind.AWAY:
            return rules.away_timeout_ms
        case TimerKind.COUNTDOWN:
            return rules.countdown_ms
        case TimerKind.ROUND_PAUSE:
            return rules.round_pause_ms
        case TimerKind.NACHSPIEL:
            return rules.nachspiel_ms
        case TimerKind.IDLE:
            return rules.idle_close_ms
        case TimerKind.HOUSE_FILL:
            return draft.state.config.house_fill_after_ms
        case _:
            assert_never(timer.kind)
