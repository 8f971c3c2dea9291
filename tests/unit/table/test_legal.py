"""What a seat is told it may do is exactly what the table accepts."""

from collections.abc import Callable

import pytest

from okey.errors import OkeyError
from okey.rules.finish import FinishRejected
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table.decide import step
from okey.table.legal import LegalAction, legal_actions
from okey.table.state import SeatStatus, TableState
from okey.table.view import SPECTATOR
from tests.factories import (
    FAR,
    PILE,
    PLAYERS,
    STOCK,
    Driver,
    canak,
    dealt,
    klasik,
    nachspiel,
    opened,
    paid,
    paused,
    seated,
    settling,
    solo,
    starting,
    tie_break,
)

L = LegalAction
MOVES: dict[LegalAction, Callable[[Tile], c.Action]] = {
    L.DRAW_STOCK: lambda _: c.Draw(STOCK),
    L.DRAW_DISCARD: lambda _: c.Draw(PILE),
    L.DISCARD: c.Discard,
    L.FINISH: c.Finish,
    L.ANNOUNCE_CIFT: lambda _: c.AnnounceCift(),
    L.WITHDRAW_CIFT: lambda _: c.WithdrawCift(),
    L.SHOW_GOSTERGE: lambda _: c.ShowGosterge(),
}
SEATING: dict[LegalAction, Callable[[str], c.Command]] = {
    L.TAKE_SEAT: c.TakeSeat,
    L.LEAVE: c.LeaveSeat,
    L.PLAY_ON: c.PlayOn,
    L.ADD_NONCE: lambda player: c.AddNonce(player, bytes(32)),
    L.FORFEIT: c.Forfeit,
    L.RETURN_TO_SEAT: c.ReturnToSeat,
}


def is_accepted(table: Driver, command: c.Command) -> bool:
    """Whether the command is taken; a finish that only fails by its hand is allowed to try."""
    try:
        step(table.state, command, table.context())
    except FinishRejected:
        return True
    except OkeyError:
        return False
    return True


def accepted(table: Driver, seat: int) -> set[LegalAction]:
    """What the table takes from the seat's player (or AI), or from a spectator."""
    player = "x" if seat == SPECTATOR else table.player(seat)
    found = {action for action, command in SEATING.items() if is_accepted(table, command(player))}
    if seat == SPECTATOR or table.state.round is None:
        return found
    rack = table.hand(seat).rack
    for action, move in MOVES.items():
        if is_accepted(table, by_owner(table.state, seat, move(rack[-1] if rack else Tile.R1))):
            found.add(action)
    return found


def by_owner(state: TableState, seat: int, action: c.Action) -> c.Command:
    assert state.round is not None
    assert state.round.turn is not None
    number = state.round.turn.number
    if state.seats[seat].is_ai_played:
        return c.BotMove(seat, number, action)
    return c.PlayerMove(state.seats[seat].player, number, action)


def second_turn() -> Driver:
    table = dealt(klasik(4))
    table.discard()
    table.arrange({1: FAR.replace("Y8", "R7")})
    return table


def announced() -> Driver:
    table = dealt()
    table.act(c.AnnounceCift())
    return table


def minded() -> Driver:
    table = dealt(canak(4))
    table.away(0)
    return table


def minded_elsewhere() -> Driver:
    table = minded()
    table.pass_turn()
    table.draw()
    return table


def given_up() -> Driver:
    table = dealt(canak(4))
    table.do(c.Forfeit(PLAYERS[0]))
    return table


def late() -> Driver:
    """The fourth own turn, nothing announced."""
    table = dealt()
    for _ in range(6):
        table.pass_turn()
    return table


def three_way() -> Driver:
    """A tie-break with two people and a house seat, which is to move."""
    table = tie_break(0, 1, 2, starter=0)
    table.do(c.Forfeit(PLAYERS[0]))
    return table


def half_nachspiel() -> Driver:
    table = nachspiel(canak(4))
    table.play_on(0)
    table.do(c.LeaveSeat(PLAYERS[3]))
    table.do(c.AddNonce(PLAYERS[1], bytes(32)))
    return table


def closed() -> Driver:
    table = settling(klasik())
    table.settle()
    return table


def drawn_tie_break() -> Driver:
    table = tie_break(0, 1)
    table.draw_round()
    return table


BUILDS: list[Callable[[], Driver]] = [
    opened,
    seated,
    paid,
    starting,
    dealt,
    second_turn,
    announced,
    minded,
    minded_elsewhere,
    given_up,
    late,
    paused,
    lambda: tie_break(0, 1),
    drawn_tie_break,
    three_way,
    settling,
    nachspiel,
    half_nachspiel,
    closed,
    lambda: opened(solo(4)),
    lambda: dealt(solo(), starter=1),
]


@pytest.mark.parametrize("build", BUILDS)
def test_the_legal_actions_are_the_accepted_ones(build: Callable[[], Driver]) -> None:
    """U1, H7, H10, H11, K3, K6, U8, W2, M9, T9: the rule stands once, for views and for moves."""
    table = build()
    taken = (i for i, seat in enumerate(table.state.seats) if seat.status is not SeatStatus.FREE)
    for seat in (SPECTATOR, *taken):
        legal = legal_actions(table.state, seat)
        assert list(legal) == sorted(legal)
        assert set(legal) == accepted(table, seat), f"seat {seat}"


def test_who_may_show_the_gosterge_is_told_so() -> None:
    """K3: before drawing."""
    table = second_turn()
    assert L.SHOW_GOSTERGE in legal_actions(table.state, 1)
    table.draw()
    assert L.SHOW_GOSTERGE not in legal_actions(table.state, 1)


def test_a_stand_ins_actions_are_draws_and_discards() -> None:
    """U8: and its player may come back or give up."""
    table = minded()
    table.pass_turn()
    table.pass_until(0)
    assert legal_actions(table.state, 0) == (
        L.DRAW_STOCK,
        L.DRAW_DISCARD,
        L.FORFEIT,
        L.RETURN_TO_SEAT,
    )
