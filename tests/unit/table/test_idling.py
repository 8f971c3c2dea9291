"""What a table that closes for idling gives back."""

from okey.table import commands as c
from okey.table import events as e
from okey.table.state import SeatStatus, seated_players
from tests.factories import PLAYERS, canak, of_kind, opened


def test_idling_frees_a_seat_whose_stake_the_wallet_has_not_answered_for() -> None:
    """W1, M1: the hold asked for is given back too, whatever becomes of the question."""
    table = opened(canak(4))
    table.pay()
    table.do(c.TakeSeat("x"))
    asked = table.seat(1).hold_id
    assert table.seat(1).status is SeatStatus.REQUESTED
    vacated = of_kind(table.expire(c.TimerKind.IDLE), e.SeatVacated)
    assert [(each.seat, each.player) for each in vacated] == [(0, PLAYERS[0]), (1, "x")]
    assert vacated[1].hold_id == asked != ""
    assert {seat.status for seat in table.state.seats} == {SeatStatus.FREE}
    assert seated_players(table.state) == frozenset()
    table.ignored(c.ConfirmHold(asked))
