"""What one may see of a table."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

import pytest

from okey.rules.tile import Tile
from okey.rules.variant import BotLevel
from okey.table import commands as c
from okey.table.legal import LegalAction
from okey.table.state import Phase, SeatStatus, running_timers
from okey.table.view import SPECTATOR, Control, TableView, view
from tests.factories import (
    PILE,
    PLAYERS,
    TABLE_ID,
    Driver,
    canak,
    dealt,
    esli,
    klasik,
    nachspiel,
    opened,
    paid,
    rack,
    settling,
    solo,
    tie_break,
)

RED = "R1 R2 R3 R4 R5 R6 R9 R10 R11 R12 R13 R1 R2 R3"
YELLOW = RED.replace("R", "Y")
BLUE = RED.replace("R", "B")
BLACK = RED.replace("R", "K")
RACKS = {0: f"{RED} R4", 1: YELLOW, 2: BLUE, 3: BLACK}


def colours() -> Driver:
    """Seat 0 is to move and holds all red tiles, the others one colour each; the stock is S."""
    table = dealt(canak(4))
    table.arrange(RACKS, gosterge=Tile.B13, stock="S S S")
    return table


def leaves(value: object) -> Iterator[object]:
    """Everything that a view is made of."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from leaves(getattr(value, field.name))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def tiles_in(seen: TableView) -> set[Tile]:
    return {leaf for leaf in leaves(seen) if isinstance(leaf, Tile)}


def bytes_in(seen: TableView) -> set[bytes]:
    return {leaf for leaf in leaves(seen) if isinstance(leaf, bytes) and leaf}


@pytest.mark.parametrize("viewer", [SPECTATOR, 0, 1, 2, 3])
def test_a_seat_sees_its_own_rack_and_no_other(viewer: int) -> None:
    """T9: neither another rack nor the stock; a spectator sees the gösterge and the okey alone."""
    table = colours()
    own = set() if viewer == SPECTATOR else set(rack(RACKS[viewer]))
    assert tiles_in(view(table.state, viewer)) == own | {Tile.B13, Tile.B1}


def test_partners_share_no_information() -> None:
    """O2: a partner's rack is as hidden as an opponent's."""
    table = dealt(esli())
    table.arrange(RACKS, gosterge=Tile.B13)
    assert tiles_in(view(table.state, 2)) == {*rack(BLUE), Tile.B13, Tile.B1}


def test_a_stock_tile_is_its_drawers() -> None:
    """T9: the others see that something was drawn."""
    table = colours()
    table.discard(Tile.R13)
    table.draw()
    own = view(table.state, 1)
    assert own.round is not None
    assert own.round.drawn is Tile.S
    for viewer in (SPECTATOR, 0, 2, 3):
        other = view(table.state, viewer)
        assert other.round is not None
        assert other.round.turn is not None
        assert other.round.turn.has_drawn
        assert other.round.drawn is None
        assert Tile.S not in tiles_in(other)
        assert other.seats[1].rack_count == 15
        assert other.round.stock_count == 2


@pytest.mark.parametrize("viewer", [SPECTATOR, 0, 1])
def test_no_view_holds_a_seed_or_a_nonce(viewer: int) -> None:
    """T9: of the coming round, of the running one, in every phase: the commitment alone."""
    for build in (opened, paid, dealt, settling, nachspiel):
        table: Driver = build()
        if table.state.sealed is not None:
            table.do(c.AddNonce(PLAYERS[0], b"\x05" * 32))
        seen = view(table.state, viewer)
        if table.state.round is not None:
            assert bytes_in(seen) == {table.round.commitment}
        else:
            assert table.state.sealed is not None
            assert bytes_in(seen) == {table.state.sealed.commitment}
            assert seen.seats[0].has_nonce


def test_a_closed_table_commits_to_nothing() -> None:
    """T9: nothing is dealt there any more."""
    table = settling(klasik())
    table.settle()
    seen = view(table.state, 0)
    assert (seen.phase, seen.commitment, seen.legal_actions) == (Phase.CLOSED, b"", ())


def test_a_former_owner_sees_what_spectators_see() -> None:
    """M9: its seat is the house's; `seat_of` leads to the spectators' view."""
    table = colours()
    table.do(c.Forfeit(PLAYERS[1]))
    viewer = table.state.seat_of(PLAYERS[1])
    assert viewer == SPECTATOR
    assert tiles_in(view(table.state, viewer)) == {Tile.B13, Tile.B1}
    seat = view(table.state, viewer).seats[1]
    assert (seat.control, seat.bot_level, seat.player, seat.gave_up) == (
        Control.HOUSE,
        BotLevel.NORMAL,
        "",
        True,
    )


def test_an_absent_owner_still_sees_its_seat() -> None:
    """U8: it is minded, not lost."""
    table = dealt(canak(4))
    table.away(1)
    table.arrange({1: YELLOW})
    seen = view(table.state, 1)
    assert seen.seats[1].control is Control.STAND_IN
    assert seen.seats[1].away_deadline_ms == table.seat(1).away_deadline_ms
    assert LegalAction.RETURN_TO_SEAT in seen.legal_actions
    assert set(rack(YELLOW)) <= tiles_in(seen)


def test_the_round_as_everybody_sees_it() -> None:
    """U1, T4, T8, U12: numbers, seats, piles, the takeable discard, own turns."""
    table = colours()
    table.discard(Tile.R13)
    seen = view(table.state, 0)
    own = seen.round
    assert own is not None
    assert own.turn is not None
    assert (own.round_no, own.playing, own.dealer, own.starter) == (1, (0, 1, 2, 3), 3, 0)
    assert (own.gosterge, own.okey, own.stock_count) == (Tile.B13, Tile.B1, 3)
    assert (own.turn.number, own.turn.seat, own.turn.has_drawn) == (2, 1, False)
    assert own.turn.deadline_ms == table.turn.deadline_ms
    assert own.takeable is Tile.R13
    assert (own.own_turns, own.is_tie_break, own.drawn) == (1, False, None)
    assert seen.seats[0].pile == (Tile.R13,)
    assert seen.timers == running_timers(table.state)
    table.draw(PILE)
    taken = view(table.state, 0)
    assert taken.round is not None
    assert taken.round.takeable is None
    assert taken.seats[0].pile == ()


def test_what_a_seat_took_from_a_pile_is_public_until_it_is_discarded() -> None:
    """U1: everybody saw it lie there and be taken; a draw from the stock tells nobody anything."""
    table = colours()
    table.discard(Tile.R13)
    table.draw(PILE)
    assert [seat.taken for seat in view(table.state, SPECTATOR).seats] == [(), (Tile.R13,), (), ()]
    table.discard(table.hand(1).rack[0])
    table.draw()
    taken = [seat.taken for seat in view(table.state, 0).seats]
    assert taken == [(), (Tile.R13,), (), ()]


def test_a_taken_tile_that_is_discarded_again_is_on_the_pile_only() -> None:
    """U1: of two equal tiles nobody can tell which one was discarded."""
    table = colours()
    table.discard(Tile.R13)
    table.draw(PILE)
    table.discard(Tile.R13)
    seat = view(table.state, 0).seats[1]
    assert (seat.taken, seat.pile) == ((), (Tile.R13,))


def test_nothing_is_takeable_in_the_first_turn() -> None:
    """U2: the starter does not draw; nor before a turn has begun."""
    table = dealt()
    seen = view(table.state, 0).round
    assert seen is not None
    assert seen.takeable is None
    assert seen.drawn is Tile.K2
    empty = replace(table.round, turn=replace(table.turn, drawn=None))
    table.state = replace(table.state, round=empty)
    seen = view(table.state, 0).round
    assert seen is not None
    assert seen.takeable is None
    table.state = replace(table.state, round=replace(table.round, turn=None))
    seen = view(table.state, 0).round
    assert seen is not None
    assert (seen.turn, seen.takeable, seen.drawn) == (None, None, None)


def test_announcements_and_shown_gosterge_are_public() -> None:
    """H10, K3: with the points."""
    table = dealt(klasik())
    table.arrange({0: f"{RED} R7"})
    table.act(c.ShowGosterge())
    table.act(c.AnnounceCift())
    first, second = view(table.state, SPECTATOR).seats
    assert (first.has_announced_cift, first.has_shown_gosterge, first.points) == (True, True, 20)
    assert (second.has_announced_cift, second.has_shown_gosterge) == (False, False)
    assert second.points == 19


def test_the_price_of_giving_up_is_told() -> None:
    """M9: half the stake while a match runs, else nothing."""
    assert view(dealt(canak(stake=55)).state, 0).forfeit_price == 27
    for build in (opened, paid, settling, nachspiel):
        assert view(build().state, 0).forfeit_price == 0
    assert view(dealt(canak(stake=55)).state, SPECTATOR).forfeit_price == 0


def test_who_is_out_of_a_tie_break_has_nothing_to_give_up() -> None:
    """K6: no price, because leaving is free."""
    table = tie_break(0, 1)
    assert [view(table.state, seat).forfeit_price > 0 for seat in range(4)] == [True] * 2 + [
        False
    ] * 2


def test_a_bot_that_fills_in_is_marked() -> None:
    """W5: everybody sees that the match is unrated."""
    table = opened(canak(2, house_fill_after_ms=5_000))
    table.expire(c.TimerKind.HOUSE_FILL)
    assert [seat.is_fill for seat in view(table.state, SPECTATOR).seats] == [False, True]
    assert not view(dealt(solo()).state, SPECTATOR).seats[1].is_fill


def test_the_money_that_is_played_for() -> None:
    """Ç2, Ç8, Ç9: newcomers see the kasa."""
    seen = view(dealt().state, SPECTATOR)
    assert (seen.pot, seen.kasa, seen.match_id, seen.match_no) == (90, 10, f"{TABLE_ID}-1", 1)
    seen = view(nachspiel().state, SPECTATOR)
    assert (seen.pot, seen.kasa, seen.match_id, seen.match_no) == (0, 10, f"{TABLE_ID}-2", 1)


def test_a_waiting_table() -> None:
    """W1: who sits, who has paid, what is free."""
    table = opened(solo())
    seen = view(table.state, SPECTATOR)
    assert seen.round is None
    assert [(seat.status, seat.control) for seat in seen.seats] == [
        (SeatStatus.REQUESTED, Control.PERSON),
        (SeatStatus.PAID, Control.HOUSE),
    ]
    free = view(opened().state, SPECTATOR).seats[1]
    assert (free.control, free.player, free.rack_count, free.points) == (Control.NOBODY, "", 0, 0)


def test_a_tie_break_is_named_and_has_no_rack_for_the_others() -> None:
    """K6: who is out sees no tiles of it."""
    table = tie_break(0, 1)
    seen = view(table.state, 2).round
    assert seen is not None
    assert (seen.is_tie_break, seen.rack, seen.playing) == (True, (), (0, 1))
