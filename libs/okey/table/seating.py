"""Sitting down, paying, leaving before a match, nonces (W1..W5, M1, M2, T9, O1)."""

from okey.money.match import forfeit_price
from okey.rules.deal import NONCE_BYTES
from okey.rules.variant import HOUSE_SEAT_LEVEL, Mode
from okey.table import events as e
from okey.table.checks import seat_owned_by, why_not_nonce
from okey.table.commands import Context, OpenTable
from okey.table.config import check_config
from okey.table.draft import Draft
from okey.table.errors import (
    AlreadySeated,
    InvalidNonce,
    LeftBeforeStart,
    MatchRunning,
    NoFreeSeat,
    NoSuchSeat,
    SeatsNotOpen,
    SeatTaken,
)
from okey.table.evolve import evolve
from okey.table.reasons import CloseReason, VacateReason
from okey.table.state import Phase, SeatStatus, TableState

SEATING_PHASES = (Phase.WAITING, Phase.NACHSPIEL)


def open_table(command: OpenTable, context: Context) -> Draft:
    """W1: the table stands, its maker asks for seat 0; in solo the house takes the others (O1)."""
    config = command.config
    check_config(config)
    fill_deadline_ms = house_fill_deadline(config.house_fill_after_ms, context.now_ms)
    opened = e.TableOpened(
        config, context.fresh(), context.now_ms + config.rules.idle_close_ms, fill_deadline_ms
    )
    draft = Draft(evolve(None, opened), context)
    draft.events.append(opened)
    if config.mode is Mode.SOLO:
        for seat in range(1, config.seat_count):
            draft.emit(e.HouseSeated(seat, config.bot_level, is_fill=False))
    request_seat(draft, 0, command.player)
    return draft


def house_fill_deadline(house_fill_after_ms: int, now_ms: int) -> int:
    """W5: when the house fills free seats, 0 for never."""
    return now_ms + house_fill_after_ms if house_fill_after_ms else 0


def request_seat(draft: Draft, seat: int, player: str) -> None:
    """Give the player the seat and ask the wallet for the stake, under a hold id never used before
    (M5).
    """
    state = draft.state
    hold_id = f"{state.match_id}-{seat}-{state.holds_asked + 1}"
    draft.emit(e.SeatRequested(seat, player, hold_id, idle_deadline(draft)))


def idle_deadline(draft: Draft) -> int:
    """W1: every joining and leaving starts the idle clock anew."""
    return draft.now_ms + draft.rules.idle_close_ms


def take_seat(draft: Draft, player: str, seat: int) -> None:
    """A player sits down on the seat, or on the first free one for -1. Raises why not."""
    state = draft.state
    if state.seat_of(player) >= 0:
        raise AlreadySeated(f"{player} has seat {state.seat_of(player)} here already")
    if state.phase not in SEATING_PHASES:
        raise SeatsNotOpen(
            f"the table is {state.phase.name}; "
            "seats are open while it waits and in the Nachspiel (Ç9)"
        )
    if player in state.left_late:
        raise LeftBeforeStart(
            f"{player} left when everybody had paid; here there is a seat for them again after "
            "the next deal, and at other tables at once (W2)"
        )
    request_seat(draft, _free_seat(state, seat), player)


def _free_seat(state: TableState, wanted: int) -> int:
    if not -1 <= wanted < len(state.seats):
        raise NoSuchSeat(f"seat {wanted}; this table has seats 0 to {len(state.seats) - 1}")
    free = [i for i, seat in enumerate(state.seats) if seat.status is SeatStatus.FREE]
    if not free:
        raise NoFreeSeat(f"all {len(state.seats)} seats of {state.config.table_id} are taken")
    if wanted >= 0 and wanted not in free:
        raise SeatTaken(f"seat {wanted} is taken; free: {', '.join(map(str, free))}")
    return free[0] if wanted < 0 else wanted


def confirm_hold(draft: Draft, hold_id: str) -> None:
    """The stake is held; with the last one the count-down starts (W2). An answer not waited for is
    nothing.
    """
    seat = _requested_seat(draft.state, hold_id)
    if seat >= 0:
        draft.emit(e.SeatPaid(seat, hold_id))
        start_countdown_if_paid(draft)


def decline_hold(draft: Draft, hold_id: str, reason: str) -> None:
    """The stake was declined: the seat is free again and nobody else's chips are touched (M2)."""
    seat = _requested_seat(draft.state, hold_id)
    if seat >= 0:
        player = draft.state.seats[seat].player
        draft.emit(e.SeatDeclined(seat, player, hold_id, reason, idle_deadline(draft)))
        close_if_empty(draft)


def _requested_seat(state: TableState, hold_id: str) -> int:
    for index, seat in enumerate(state.seats):
        if seat.hold_id == hold_id and seat.status is SeatStatus.REQUESTED:
            return index
    return -1


def start_countdown_if_paid(draft: Draft) -> None:
    """W1, W2: every seat is taken and paid."""
    state = draft.state
    if all(seat.status is SeatStatus.PAID for seat in state.seats):
        draft.emit(e.CountdownStarted(draft.now_ms + draft.rules.countdown_ms))


def fill_with_house(draft: Draft) -> None:
    """W5: bots take the seats that are still free, for one match."""
    for index, seat in enumerate(draft.state.seats):
        if seat.status is SeatStatus.FREE:
            draft.emit(e.HouseSeated(index, HOUSE_SEAT_LEVEL, is_fill=True))
    start_countdown_if_paid(draft)


def leave_seat(draft: Draft, player: str) -> None:
    """W2, M1: leave before the match starts or after it ended; free, the stake comes back."""
    state = draft.state
    seat = seat_owned_by(state, player)
    match state.phase:
        case Phase.STARTING:
            if not state.seats[seat].is_leaving:
                draft.emit(e.LeaveRequested(seat))
        case Phase.PLAYING | Phase.PAUSE:
            _leave_tie_break(draft, seat)
        case Phase.SETTLING:
            vacate(draft, seat, VacateReason.LEFT)
        case _:
            reason = VacateReason.LEFT
            if state.phase is Phase.COUNTDOWN:
                reason = VacateReason.LEFT_LATE
                draft.emit(e.CountdownCancelled())
            vacate(draft, seat, reason)
            close_if_empty(draft)


def _leave_tie_break(draft: Draft, seat: int) -> None:
    """K6: who is out of a tie-break leaves freely; everybody else would be giving up (M9)."""
    contenders = draft.match.contenders
    if not contenders or seat in contenders:
        price = forfeit_price(draft.state.config.stake, draft.rules)
        raise MatchRunning(
            f"match {draft.match.match_id} is running; Forfeit gives it up "
            f"for {price} chips and {draft.rules.forfeit_milli_points // 1000} rating points (M9)"
        )
    vacate(draft, seat, VacateReason.LEFT)


def vacate(draft: Draft, seat: int, reason: VacateReason) -> None:
    """Free a seat; a hold that stands is voided by the relay (M1)."""
    left = draft.state.seats[seat]
    draft.emit(e.SeatVacated(seat, left.player, left.hold_id, reason, idle_deadline(draft)))


def close_if_empty(draft: Draft) -> None:
    """Ç10: a table without people closes."""
    if not any(seat.is_person for seat in draft.state.seats):
        draft.emit(e.TableClosed(CloseReason.NO_PEOPLE))


def close_idle(draft: Draft) -> None:
    """W1: nobody came or went for long: everybody gets the stake back and the table closes."""
    for index, seat in enumerate(draft.state.seats):
        if seat.is_person:
            vacate(draft, index, VacateReason.IDLE)
    draft.emit(e.TableClosed(CloseReason.IDLE))


def add_nonce(draft: Draft, player: str, nonce: bytes) -> None:
    """T9: 32 bytes of the player's own for the coming shuffle. Raises why not."""
    seat = seat_owned_by(draft.state, player)
    if len(nonce) != NONCE_BYTES:
        raise InvalidNonce(f"the nonce has {len(nonce)} bytes; send {NONCE_BYTES} random ones (T9)")
    refusal = why_not_nonce(draft.state, seat)
    if refusal is not None:
        raise refusal()
    draft.emit(e.NonceAdded(seat, nonce))
