"""Fold one event into a table's state. Total: an event that was decided always applies; nothing is
checked here.

A round whose key was lost is folded too: its hidden tiles are left out of racks and stock.
"""

from collections.abc import Iterable
from typing import assert_never

from okey.money.match import MatchMoney
from okey.rules.tile import okey_of, without
from okey.table import events as e
from okey.table.commands import DrawSource, SealedSeed, Timer, TimerKind
from okey.table.evolve_seats import evolve_seats, with_seat
from okey.table.reasons import RoundResult
from okey.table.replacing import replace
from okey.table.state import Hand, Match, Phase, Round, Seat, SeatStatus, TableState, Turn


def evolve(state: TableState | None, event: e.Event) -> TableState:
    """The state after the event; the state before ``TableOpened`` is None."""
    if isinstance(event, e.TableOpened):
        return TableState(
            config=event.config,
            seats=(Seat(),) * event.config.seat_count,
            sealed=event.sealed,
            idle_deadline_ms=event.idle_deadline_ms,
            house_fill_deadline_ms=event.house_fill_deadline_ms,
        )
    assert state is not None, f"{type(event).__name__} before TableOpened"
    return _evolve_phase(state, event)


def replay(events: Iterable[e.Event]) -> TableState:
    """The state that a table's events, oldest first, add up to."""
    state: TableState | None = None
    for event in events:
        state = evolve(state, event)
    assert state is not None, "a table without events"
    return state


def _evolve_phase(
    state: TableState, event: e.PhaseEvent | e.MatchEvent | e.RoundEvent | e.SeatEvent
) -> TableState:
    """What the table waits for, and until when."""
    match event:
        case e.CountdownStarted(deadline):
            return replace(state, phase=Phase.COUNTDOWN, phase_deadline_ms=deadline)
        case e.CountdownCancelled():
            return replace(state, phase=Phase.WAITING, phase_deadline_ms=0)
        case e.MatchStartRequested():
            return replace(state, phase=Phase.STARTING, phase_deadline_ms=0)
        case e.MatchStartDeclined():
            return replace(state, phase=Phase.WAITING)
        case e.PauseStarted(deadline):
            return replace(state, phase=Phase.PAUSE, phase_deadline_ms=deadline)
        case e.NachspielStarted(deadline, fill_deadline):
            return replace(
                state,
                phase=Phase.NACHSPIEL,
                phase_deadline_ms=deadline,
                house_fill_deadline_ms=fill_deadline,
            )
        case e.NachspielEnded(idle_deadline):
            return replace(
                state, phase=Phase.WAITING, phase_deadline_ms=0, idle_deadline_ms=idle_deadline
            )
        case e.TableClosed():
            # Ç10: what was left in the kasa is paid out by the wallet.
            # A result that is with the wallet stands; nobody waits for its answer any more.
            return replace(
                state, phase=Phase.CLOSED, phase_deadline_ms=0, sealed=None, kasa=0, match=None
            )
        case _:
            return _evolve_match(state, event)


def _evolve_match(
    state: TableState, event: e.MatchEvent | e.RoundEvent | e.SeatEvent
) -> TableState:
    """Matches, and a new owner's clocks."""
    match event:
        case e.MatchStarted():
            return _start_match(state, event)
        case e.TieBreakStarted(contenders):
            return _start_tie_break(state, contenders)
        case e.MatchEnded():
            return _end_match(state, event)
        case e.MatchVoided():
            return _void_match(state, event)
        case e.SettlementConfirmed():
            return replace(state, match=None, phase=Phase.WAITING)
        case e.TableTakenOver(_, timers, sealed):
            for timer in timers:
                state = _rearm(state, timer)
            return state if sealed is None else _sealed_again(state, sealed)
        case _:
            return _evolve_round(state, event)


def _evolve_round(state: TableState, event: e.RoundEvent | e.SeatEvent) -> TableState:
    """What happens between a deal and the end of its round."""
    match event:
        case e.RoundDealt():
            return _deal(state, event)
        case e.TurnStarted(seat, turn, deadline):
            return _start_turn(state, seat, turn, deadline)
        case e.TileDrawn():
            return _draw(state, event)
        case e.TileDiscarded():
            return _discard(state, event)
        case e.CiftAnnounced(seat):
            hand = hand_of(state, seat)
            return with_hand(state, seat, replace(hand, announced_at=hand.own_turns))
        case e.CiftWithdrawn(seat):
            return with_hand(state, seat, replace(hand_of(state, seat), announced_at=0))
        case e.GostergeShown(seat):
            return with_hand(state, seat, replace(hand_of(state, seat), has_shown_gosterge=True))
        case e.PointsTaken(_, _, points):
            return replace(state, match=replace(match_of(state), points=points))
        case e.TurnTimedOut(seat, count):
            late = replace(round_of(state), turn=replace(turn_of(state), has_timed_out=True))
            state = replace(state, round=late)
            return with_hand(state, seat, replace(hand_of(state, seat), timeouts=count))
        case e.RoundEnded():
            return _end_round(state, event)
        case e.MatchClaimed():
            return state  # the end of the match comes with it
        case _:
            return _set_turn_clock(evolve_seats(state, event), event)


def match_of(state: TableState) -> Match:
    """The running match; asking for it when there is none is a programmer's error."""
    assert state.match is not None, f"no match is running in {state.phase.name}"
    return state.match


def round_of(state: TableState) -> Round:
    """The running round; asking for it when there is none is a programmer's error."""
    assert state.round is not None, f"no round is running in {state.phase.name}"
    return state.round


def turn_of(state: TableState) -> Turn:
    """The running turn; asking for it when there is none is a programmer's error."""
    turn = round_of(state).turn
    assert turn is not None, "a round without a turn"
    return turn


def hand_of(state: TableState, seat: int) -> Hand:
    """One seat's hand in the running round."""
    return round_of(state).hands[seat]


def with_hand(state: TableState, seat: int, hand: Hand) -> TableState:
    """The state with one seat's hand replaced."""
    running = round_of(state)
    return replace(state, round=replace(running, hands=_with(running.hands, seat, hand)))


def _with(hands: tuple[Hand, ...], seat: int, hand: Hand) -> tuple[Hand, ...]:
    return (*hands[:seat], hand, *hands[seat + 1 :])


def _start_match(state: TableState, event: e.MatchStarted) -> TableState:
    config = state.config
    money = MatchMoney.opening(
        table_id=config.table_id,
        match_id=event.match_id,
        variant=config.variant,
        mode=config.mode,
        stake=config.stake,
        payers=tuple(player or None for player in event.players),
        kasa_before=state.kasa,
        rules=config.rules,
    )
    points = (config.start_points,) * config.seat_count if config.start_points else ()
    seats = tuple(replace(seat, hold_id="") for seat in state.seats)
    return replace(
        state,
        match=Match(event.match_id, event.players, points, money),
        match_no=event.match_no,
        kasa=event.kasa,
        seats=seats,
        house_fill_deadline_ms=0,
    )


def _start_tie_break(state: TableState, contenders: tuple[int, ...]) -> TableState:
    seats = tuple(
        seat if index in contenders else replace(seat, away_deadline_ms=0)
        for index, seat in enumerate(state.seats)
    )
    return replace(state, seats=seats, match=replace(match_of(state), contenders=contenders))


def _after_match(seat: Seat) -> Seat:
    """Given-up and filled-in seats become free, people decide, solo bots stay (Ç9, W5)."""
    if seat.is_person:
        return Seat(SeatStatus.DECIDING, seat.player, nonce=seat.nonce)
    if seat.house is not None and not seat.is_fill and not seat.gave_up:
        return Seat(SeatStatus.PAID, house=seat.house)
    return Seat()


def _end_match(state: TableState, event: e.MatchEnded) -> TableState:
    return replace(
        state,
        phase=Phase.SETTLING,
        phase_deadline_ms=0,
        kasa=event.kasa,
        seats=tuple(_after_match(seat) for seat in state.seats),
    )


def _void_match(state: TableState, event: e.MatchVoided) -> TableState:
    return replace(
        state,
        phase=Phase.WAITING,
        phase_deadline_ms=0,
        match=None,
        round=None,
        match_no=int(event.match_id.rpartition("-")[2]),
        kasa=event.kasa,
        sealed=event.sealed,
        seats=tuple(replace(_after_match(seat), nonce=b"") for seat in state.seats),
    )


def _sealed_again(state: TableState, sealed: SealedSeed) -> TableState:
    """Another seed; nonces were for the one before, and some of them may be lost with it."""
    seats = tuple(replace(seat, nonce=b"") for seat in state.seats)
    return replace(state, sealed=sealed, seats=seats)


def _deal(state: TableState, event: e.RoundDealt) -> TableState:
    assert state.sealed is not None, "a deal without a sealed seed"
    dealt = Round(
        round_no=event.round_no,
        playing=event.playing,
        dealer=event.dealer,
        starter=event.starter,
        gosterge=event.gosterge,
        okey=okey_of(event.gosterge),
        stock=event.stock,
        hands=tuple(Hand(rack) for rack in event.racks),
        seed=state.sealed.seed,
        commitment=state.sealed.commitment,
        nonces=event.nonces,
    )
    return replace(
        state,
        phase=Phase.PLAYING,
        phase_deadline_ms=0,
        sealed=None,
        left_late=(),
        last_dealer=event.dealer,
        match=replace(match_of(state), round_no=event.round_no),
        round=dealt,
        seats=tuple(replace(seat, nonce=b"") for seat in state.seats),
    )


def _start_turn(state: TableState, seat: int, turn: int, deadline_ms: int) -> TableState:
    running = round_of(state)
    hand = running.hands[seat]
    # U2: the starter's fifteenth tile counts as drawn.
    drawn = hand.rack[-1] if running.turn is None and hand.rack else None
    started = replace(
        running,
        hands=_with(running.hands, seat, replace(hand, own_turns=hand.own_turns + 1)),
        turn=Turn(turn, seat, deadline_ms, drawn),
    )
    return replace(state, last_turn=turn, round=started)


def _draw(state: TableState, event: e.TileDrawn) -> TableState:
    running = round_of(state)
    hands, stock = running.hands, running.stock
    is_stock = event.source is DrawSource.STOCK
    if is_stock:
        stock = stock[1:]
    else:
        source = running.previous_seat(event.seat)
        taken_from = hands[source]
        hands = _with(hands, source, replace(taken_from, pile=taken_from.pile[:-1]))
    hand = hands[event.seat]
    if event.tile is not None:
        hand = replace(
            hand,
            rack=(*hand.rack, event.tile),
            taken=hand.taken if is_stock else (*hand.taken, event.tile),
        )
    drawn = replace(
        running,
        stock=stock,
        hands=_with(hands, event.seat, hand),
        turn=replace(turn_of(state), drawn=event.tile, drew_from_stock=is_stock),
    )
    return replace(state, round=drawn)


def _discard(state: TableState, event: e.TileDiscarded) -> TableState:
    running = round_of(state)
    hand = running.hands[event.seat]
    rack = list(hand.rack)
    if running.seed or event.tile in rack:
        rack.remove(event.tile)
    laid = replace(
        hand,
        rack=tuple(rack),
        pile=(*hand.pile, event.tile),
        taken=without(hand.taken, (event.tile,)) if hand.taken else (),
    )
    discarded = replace(
        running,
        hands=_with(running.hands, event.seat, laid),
        stockless_turns=0 if turn_of(state).drew_from_stock else running.stockless_turns + 1,
    )
    return replace(state, round=discarded)


def _end_round(state: TableState, event: e.RoundEnded) -> TableState:
    drawn = event.result in (RoundResult.STOCK_EMPTY, RoundResult.NO_STOCK_DRAWS)
    running = match_of(state)
    drawn_in_a_row = running.drawn_in_a_row + 1 if drawn else 0
    return replace(
        state,
        round=None,
        sealed=event.sealed,
        match=replace(running, drawn_in_a_row=drawn_in_a_row),
    )


def _set_turn_clock(state: TableState, event: e.SeatEvent) -> TableState:
    """A stand-in, a return and a forfeit in the seat's own turn set its clock anew."""
    match event:
        case (
            e.StandInSeated(seat=seat, turn_deadline_ms=deadline)
            | e.PlayerReturned(seat=seat, turn_deadline_ms=deadline)
            | e.SeatForfeited(seat=seat, turn_deadline_ms=deadline)
        ) if deadline:
            return _rearm(state, Timer(TimerKind.TURN, deadline, seat))
        case _:
            return state


def _rearm(state: TableState, timer: Timer) -> TableState:
    match timer.kind:
        case TimerKind.TURN:
            turn = replace(turn_of(state), deadline_ms=timer.deadline_ms)
            return replace(state, round=replace(round_of(state), turn=turn))
        case TimerKind.AWAY:
            own = state.seats[timer.seat]
            return with_seat(state, timer.seat, replace(own, away_deadline_ms=timer.deadline_ms))
        case TimerKind.IDLE:
            return replace(state, idle_deadline_ms=timer.deadline_ms)
        case TimerKind.HOUSE_FILL:
            return replace(state, house_fill_deadline_ms=timer.deadline_ms)
        case TimerKind.COUNTDOWN | TimerKind.ROUND_PAUSE | TimerKind.NACHSPIEL:
            return replace(state, phase_deadline_ms=timer.deadline_ms)
        case _:
            assert_never(timer.kind)
