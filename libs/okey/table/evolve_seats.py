"""The part of ``evolve`` that concerns who sits where, and who plays for whom."""

from typing import assert_never

from okey.rules.variant import HOUSE_SEAT_LEVEL
from okey.table import events as e
from okey.table.reasons import Departure, VacateReason
from okey.table.replacing import replace
from okey.table.state import Seat, SeatStatus, TableState


def with_seat(state: TableState, index: int, seat: Seat) -> TableState:
    """The state with one seat replaced."""
    seats = list(state.seats)
    seats[index] = seat
    return replace(state, seats=tuple(seats))


def evolve_seats(state: TableState, event: e.SeatEvent) -> TableState:
    """Fold an event about a seat; ``okey.table.evolve`` has handled every other kind."""
    match event:
        case e.SeatRequested():
            return _request(state, event)
        case e.SeatDeclined(seat, _, _, _, idle_deadline):
            return _vacate(state, seat, idle_deadline)
        case e.SeatVacated(seat, player, _, reason, idle_deadline):
            if reason is VacateReason.LEFT_LATE:
                state = replace(state, left_late=(*state.left_late, player))
            return _vacate(state, seat, idle_deadline)
        case e.SeatForfeited():
            return _forfeit(state, event)
        case (
            e.SeatPaid(seat=seat)
            | e.HouseSeated(seat=seat)
            | e.NonceAdded(seat=seat)
            | e.LeaveRequested(seat=seat)
            | e.StandInSeated(seat=seat)
            | e.PlayerReturned(seat=seat)
        ):
            return with_seat(state, seat, _changed(state.seats[seat], event))
        case _:
            assert_never(event)


def _changed(
    seat: Seat,
    event: e.SeatPaid
    | e.HouseSeated
    | e.NonceAdded
    | e.LeaveRequested
    | e.StandInSeated
    | e.PlayerReturned,
) -> Seat:
    match event:
        case e.SeatPaid():
            return replace(seat, status=SeatStatus.PAID)
        case e.HouseSeated(_, level, is_fill):
            return replace(seat, status=SeatStatus.PAID, house=level, is_fill=is_fill)
        case e.NonceAdded(_, nonce):
            return replace(seat, nonce=nonce)
        case e.LeaveRequested():
            return replace(seat, is_leaving=True)
        case e.StandInSeated(_, away_deadline, _):
            return replace(seat, away_deadline_ms=away_deadline)
        case e.PlayerReturned():
            return replace(seat, away_deadline_ms=0)
        case _:
            assert_never(event)


def _request(state: TableState, event: e.SeatRequested) -> TableState:
    seat = replace(
        state.seats[event.seat],
        status=SeatStatus.REQUESTED,
        player=event.player,
        hold_id=event.hold_id,
    )
    return replace(
        with_seat(state, event.seat, seat),
        holds_asked=state.holds_asked + 1,
        idle_deadline_ms=event.idle_deadline_ms,
    )


def _vacate(state: TableState, index: int, idle_deadline_ms: int) -> TableState:
    return replace(with_seat(state, index, Seat()), idle_deadline_ms=idle_deadline_ms)


def _forfeit(state: TableState, event: e.SeatForfeited) -> TableState:
    running = state.match
    assert running is not None, "nobody gives up without a match"
    # W4, M9: the seat is the house's now, and its AI plays at the normal level.
    departure = Departure.FORFEITED if event.is_penalised else Departure.EXCUSED
    given_up = Seat(SeatStatus.PAID, house=HOUSE_SEAT_LEVEL, departure=departure)
    return replace(
        with_seat(state, event.seat, given_up),
        match=replace(running, money=running.money.given_up(event.seat)),
    )
