"""Clocks are fair (U4, U5, U8): an outage costs nobody time and gives nobody more than the full.

Two views of it: the stored deadlines against the outages that the run made, and what a player who
did not sleep went through.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from okey.table import events as e
from okey.table.commands import TimerKind
from okey.table.reasons import ForfeitReason
from okey.table.state import TableState, Turn, running_timers
from okey.table.view import Control
from tests.chaos.tables.history import (
    Asked,
    ClientHistory,
    Finding,
    History,
    Outage,
    Snapshot,
    Update,
)
from tests.chaos.tables.replay import Replays, Step

NOT_MORE = "never more than the full time"
NOT_LESS = "never less than before the outage"
NOT_EARLY = "no timeout with time left"
AWAKE = "no timeout of who was awake"
STEADY = "a deadline moves by a take-over only"
FORWARD = "a table's time goes forward"

SLACK_MS = 60
"""Between a signal and its stamp, and of rounding to milliseconds."""

_NEAR_MS = 30_000

_Key = tuple[TimerKind, int, int, Control]
"""A clock: its kind, seat and turn, and who plays that seat."""


@dataclass(slots=True)
class _Running:
    """A clock as it was started, before any outage; ``armed`` are the moments and deadlines with
    which it was armed since.
    """

    began_ms: int
    deadline_ms: int
    armed: list[tuple[int, int]] = field(default_factory=list)

    def fair_ms(self, outages: Sequence[Outage], until_ms: int) -> int:
        """The earliest fair deadline, as far as outages until then tell."""
        return self.deadline_ms + away_ms(outages, self.began_ms, until_ms)


def away_ms(outages: Sequence[Outage], from_ms: int, until_ms: int) -> int:
    """How long anything was away within that time; what overlaps counts once."""
    total, reached = 0, from_ms
    for outage in sorted(outages, key=lambda outage: outage.began_ms):
        began = max(outage.began_ms, reached)
        ended = min(outage.ended_ms, until_ms)
        if ended > began:
            total += ended - began
            reached = ended
    return total


def check_clocks(
    table_id: str, steps: Sequence[Step], outages: Sequence[Outage]
) -> Iterator[Finding]:
    """The stored deadlines of one table."""
    running: dict[_Key, _Running] = {}
    last_ms = 0
    for step in steps:
        back_ms = last_ms - step.row.at_ms
        if back_ms > 0:
            yield Finding(FORWARD, table_id, "", f"row {step.row.seq} is {back_ms} ms older")
        last_ms = step.row.at_ms
        for check, text in _wrong(step, running, outages):
            yield Finding(check, table_id, "", f"row {step.row.seq}: {text}")


def _wrong(
    step: Step, running: dict[_Key, _Running], outages: Sequence[Outage]
) -> Iterator[tuple[str, str]]:
    at_ms = step.row.at_ms
    before = _clocks(step.before) if step.before is not None else {}
    after = _clocks(step.after)
    is_takeover = any(isinstance(event, e.TableTakenOver) for event in step.row.events)
    for key in before.keys() - after.keys():
        clock = running.pop(key)
        early_ms = clock.fair_ms(outages, at_ms) - at_ms
        if _rang(key, step.row.events) and early_ms > SLACK_MS:
            why = _told(clock, outages, at_ms)
            yield NOT_EARLY, f"{_name(key)} rang {early_ms} ms early; {why}"
    for key, deadline_ms in after.items():
        if before.get(key) == deadline_ms:
            continue
        over_ms = deadline_ms - at_ms - _full_ms(key, step.after)
        if over_ms > 0:
            yield NOT_MORE, f"{_name(key)} has {over_ms} ms more than its full time"
        if not is_takeover or key not in running:
            if key[0] is TimerKind.TURN and key in running and not _is_return(step):
                yield STEADY, f"{_name(key)} went from {before[key]} to {deadline_ms}"
            running[key] = _Running(at_ms, deadline_ms)
            continue
        clock = running[key]
        clock.armed.append((at_ms, deadline_ms))
        robbed_ms = clock.fair_ms(outages, at_ms) - deadline_ms
        if robbed_ms > SLACK_MS:
            why = _told(clock, outages, at_ms)
            yield NOT_LESS, f"{_name(key)} lost {robbed_ms} ms; {why}"


def _told(clock: _Running, outages: Sequence[Outage], at_ms: int) -> str:
    """What became of a clock until then: the times that it had, and when it got them."""
    times = [(clock.began_ms, clock.deadline_ms), *clock.armed]
    had = [f"{deadline - at} ms at {at - at_ms:+} ms" for at, deadline in times]
    return f"it had {', '.join(had)}; {_since(outages, clock.began_ms, at_ms)}"


def _since(outages: Sequence[Outage], from_ms: int, until_ms: int) -> str:
    """The outages within that time, in words."""
    met = [
        f"{outage.target} {outage.kind} from {outage.began_ms - until_ms:+} ms "
        f"to {outage.ended_ms - until_ms:+} ms"
        for outage in outages
        if outage.ended_ms > from_ms and outage.began_ms < until_ms
    ]
    return f"met {', '.join(met) or 'no outage'}"


def _clocks(state: TableState) -> dict[_Key, int]:
    """Every clock that runs, with its deadline."""
    turn = state.round.turn if state.round is not None else None
    return {
        (
            timer.kind,
            timer.seat,
            turn.number if turn is not None and timer.kind is TimerKind.TURN else 0,
            _control(state, timer.seat),
        ): timer.deadline_ms
        for timer in running_timers(state)
    }


def _control(state: TableState, seat: int) -> Control:
    if seat < 0:
        return Control.NOBODY
    own = state.seats[seat]
    if own.house is not None:
        return Control.HOUSE
    return Control.STAND_IN if own.away_deadline_ms else Control.PERSON


def _is_return(step: Step) -> bool:
    return any(isinstance(event, e.PlayerReturned) for event in step.row.events)


def _rang(key: _Key, events: Sequence[e.Event]) -> bool:
    """Whether the clock ended in these events because its time was up."""
    kind, seat, _, _ = key
    for event in events:
        match event:
            case e.TurnTimedOut() if kind is TimerKind.TURN and event.seat == seat:
                return True
            case e.SeatForfeited(reason=ForfeitReason.ABANDONED) if event.seat == seat:
                return kind is TimerKind.AWAY
            case e.MatchStartRequested() if kind is TimerKind.COUNTDOWN:
                return True
            case e.RoundDealt() if kind is TimerKind.ROUND_PAUSE:
                return True
            case _:
                continue
    return False


def _full_ms(key: _Key, state: TableState) -> int:
    """The longest that this clock ever runs."""
    kind, _, _, control = key
    config, rules = state.config, state.config.rules
    # A stand-in's turn is its owner's, who may come back in the middle of it (U8).
    is_house = control is Control.HOUSE
    person_ms = max(config.turn_timeout_ms, rules.returned_turn_min_ms)
    return {
        TimerKind.TURN: rules.house_turn_ms if is_house else person_ms,
        TimerKind.AWAY: rules.away_timeout_ms,
        TimerKind.COUNTDOWN: rules.countdown_ms,
        TimerKind.ROUND_PAUSE: rules.round_pause_ms,
        TimerKind.NACHSPIEL: rules.nachspiel_ms,
        TimerKind.IDLE: rules.idle_close_ms,
        TimerKind.HOUSE_FILL: config.house_fill_after_ms,
    }[kind]


def _name(key: _Key) -> str:
    kind, seat, turn, _ = key
    where = f" of seat {seat}" if seat >= 0 else ""
    return f"the {kind.name} clock{where}" + (f" in turn {turn}" if turn else "")


# Seen by players ----------------------------------------------------------------------------------


def check_seen_clocks(client: ClientHistory) -> Iterator[Finding]:
    """U4: every turn that one client was shown has at most its full time left, by the same message.

    A turn's deadline never comes nearer while the same seat plays it.
    """
    full_ms = last_seq = 0
    shown: dict[tuple[int, int], int] = {}
    for heard in client.heard:
        match heard:
            case Snapshot(view=view):
                full_ms = view.config.turn_timeout_ms
                if view.seq != last_seq:
                    shown.clear()  # the seat may have been handed over meanwhile
                now_ms, turn = view.server_time_ms, view.round.turn
            case Update(update=update):
                # Of several missed rows only the last one has a prompt.
                now_ms, turn = update.server_time_ms, update.prompt.turn
                if any(_hands_over(event.WhichOneof("event")) for event in update.events):
                    shown.clear()
            case _:
                continue
        seq = last_seq = heard.view.seq if isinstance(heard, Snapshot) else heard.update.seq
        if not turn.number:
            continue
        if full_ms and turn.deadline_ms - now_ms > full_ms:
            text = f"row {seq}: turn {turn.number} is shown with {turn.deadline_ms - now_ms} ms"
            yield Finding(NOT_MORE, client.table_id, client.player, text)
        nearest_ms = shown.get((turn.number, turn.seat), 0)
        if turn.deadline_ms < nearest_ms:
            text = f"row {seq}: turn {turn.number} ends {nearest_ms - turn.deadline_ms} ms sooner"
            yield Finding(STEADY, client.table_id, client.player, text)
        shown[turn.number, turn.seat] = turn.deadline_ms


def _hands_over(event: str | None) -> bool:
    return event in ("stand_in_seated", "player_returned", "seat_forfeited")


def check_awake(
    client: ClientHistory, replays: Replays, outages: Sequence[Outage], history: History
) -> Iterator[Finding]:
    """U5: a turn of this player timed out only where the script slept through it, the client's own
    process did not run for longer than an engine's may, or the player asked and any engine hung: a
    call goes through whichever it is connected to, whose clocks are others'.
    """
    for step in replays.get(client.table_id, ()):
        before = step.before
        if before is None or before.round is None or before.round.turn is None:
            continue
        turn = before.round.turn
        if client.is_spectator or before.seats[turn.seat].player != client.player:
            continue
        has_timed_out = any(isinstance(event, e.TurnTimedOut) for event in step.row.events)
        if has_timed_out and turn.number not in client.overslept:
            began_ms = turn.deadline_ms - before.config.turn_timeout_ms
            late_ms = away_ms(history.own_stops, began_ms, turn.deadline_ms)
            if late_ms > history.unnoticed_ms or _met_silence(client, turn, history):
                continue
            text = f"row {step.row.seq}: turn {turn.number} timed out; "
            text += f"the clients did not run for {late_ms} ms of it; "
            text += _tried(client, turn.number, turn.deadline_ms, outages)
            yield Finding(AWAKE, client.table_id, client.player, text)


def _met_silence(client: ClientHistory, turn: Turn, history: History) -> bool:
    """Whether a command of that turn had no answer, and engines were away meanwhile for longer than
    passes for a slow answer.
    """
    return any(
        away_ms(history.known_outages, asked.sent_ms, turn.deadline_ms) > history.unnoticed_ms
        for asked in client.asked
        if asked.turn == turn.number and asked.errors
    )


def _tried(client: ClientHistory, turn: int, deadline_ms: int, outages: Sequence[Outage]) -> str:
    """What the player tried in that turn, and the outages around it."""
    tries = [_try(asked, deadline_ms) for asked in client.asked if asked.turn == turn]
    met = _since(outages, deadline_ms - _NEAR_MS, deadline_ms)
    return f"tried: {'; '.join(tries) or 'nothing'}; {met}"


def _try(asked: Asked, deadline_ms: int) -> str:
    ended = asked.refusal or ("accepted" if asked.seqs else "no answer")
    sent = f"{asked.kind} at {asked.sent_ms - deadline_ms:+} ms"
    failures = f" after {', '.join(asked.errors)}" if asked.errors else ""
    return f"{sent}, {ended} at {asked.answered_ms - deadline_ms:+} ms{failures}"
