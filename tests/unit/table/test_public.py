"""What one may see of an event."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import get_args

import pytest

from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table import events as e
from okey.table.public import REVEALED, OpenEvent, PublicEvent, is_privy, public_event
from okey.table.view import SPECTATOR
from tests.factories import (
    FAR,
    PILE,
    PLAYERS,
    STOCK,
    Driver,
    canak,
    dealt,
    nachspiel,
    opened,
    paid,
    rack,
    seated,
    starting,
    the,
)

VIEWERS = (SPECTATOR, REVEALED, 0, 1)
NONCE = b"\x09" * 32


def leaves(value: object) -> Iterator[object]:
    """Everything that an event is made of."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from leaves(getattr(value, field.name))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def test_every_event_has_a_public_form() -> None:
    """T9: a type that nobody has decided about is in neither union."""
    twins = {kind.__name__.removeprefix("Public") for kind in get_args(PublicEvent)}
    assert twins == {kind.__name__ for kind in get_args(e.Event)}


def test_open_events_pass_unchanged() -> None:
    """T9: they hold nothing hidden; no open type has a field for seeds, racks or stock."""
    for kind in get_args(OpenEvent):
        names = {field.name for field in fields(kind)}
        assert not names & {"sealed", "racks", "stock", "nonce", "revealed", "nonces"}
    event = e.TurnStarted(0, 1, 2)
    assert all(public_event(event, viewer) is event for viewer in VIEWERS)


def test_who_sees_no_more_than_spectators_is_known() -> None:
    """T9, H8: a draw from the stock is its seat's own, one from the pile everybody's."""
    drawn = e.TileDrawn(1, c.DrawSource.STOCK, Tile.R1, is_neutral=False)
    assert [viewer for viewer in VIEWERS if is_privy(drawn, viewer)] == [REVEALED, 1]
    taken = e.TileDrawn(1, c.DrawSource.DISCARD, Tile.R1, is_neutral=False)
    assert not any(is_privy(taken, viewer) for viewer in VIEWERS)
    deal = the(dealt().events, e.RoundDealt)
    assert [viewer for viewer in VIEWERS if is_privy(deal, viewer)] == [REVEALED, 0, 1]
    declined = e.SeatDeclined(0, PLAYERS[0], "h-1", "TOO_FEW", 1)
    assert [viewer for viewer in VIEWERS if is_privy(declined, viewer)] == [0]
    assert not any(is_privy(e.TurnStarted(0, 1, 2), viewer) for viewer in VIEWERS)


def test_no_seed_is_seen_before_its_round_is_over() -> None:
    """T9: the table's opening shows the commitment alone."""
    table = opened()
    event = the(table.events, e.TableOpened)
    for viewer in VIEWERS:
        seen = public_event(event, viewer)
        assert event.sealed.seed not in list(leaves(seen))
        assert event.sealed.commitment in list(leaves(seen))


def test_a_declines_reason_is_for_its_player_alone() -> None:
    """M2: nobody else learns that somebody has too few chips."""
    table = seated()
    event = the(table.do(c.DeclineHold(table.seat(1).hold_id, "TOO_FEW")), e.SeatDeclined)
    assert "TOO_FEW" in list(leaves(public_event(event, 1)))
    for viewer in (SPECTATOR, REVEALED, 0):
        seen = public_event(event, viewer)
        assert "TOO_FEW" not in list(leaves(seen))
        assert PLAYERS[1] in list(leaves(seen))


def test_a_nonce_is_shown_to_no_one_before_the_deal() -> None:
    """T9: not even to its own seat; with the deal it is public."""
    table = paid()
    event = the(table.do(c.AddNonce(PLAYERS[0], NONCE)), e.NonceAdded)
    for viewer in VIEWERS:
        assert list(leaves(public_event(event, viewer))) == [0]
    deal = the(table.start(), e.RoundDealt)
    assert NONCE in list(leaves(public_event(deal, SPECTATOR)))


@pytest.mark.parametrize("viewer", [SPECTATOR, 0, 1, 2, 3])
def test_of_a_deal_a_seat_sees_its_own_rack(viewer: int) -> None:
    """T9: not the others', and how many tiles the stock has, not which."""
    deal = the(starting_deal(), e.RoundDealt)
    seen = public_event(deal, viewer)
    shown = {leaf for leaf in leaves(seen) if isinstance(leaf, Tile)}
    own = set(deal.racks[viewer]) if viewer >= 0 else set()
    assert shown - {deal.gosterge} <= own | {okey(deal)}
    assert own <= shown
    assert 48 in list(leaves(seen))


def okey(deal: e.RoundDealt) -> Tile:
    seen = public_event(deal, SPECTATOR)
    tiles = [leaf for leaf in leaves(seen) if isinstance(leaf, Tile)]
    assert len(tiles) == 2, "gösterge and okey"
    return tiles[1]


def starting_deal() -> tuple[e.Event, ...]:
    table = starting(canak(4))
    return table.do(c.ConfirmStart(table.state.match_id))


def test_a_revealed_deal_is_whole() -> None:
    """T9: after the round its seed is published, so everybody may have all of it."""
    deal = the(starting_deal(), e.RoundDealt)
    seen = list(leaves(public_event(deal, REVEALED)))
    hidden = [tile for tiles in (*deal.racks, deal.stock) for tile in tiles]
    assert [leaf for leaf in seen if isinstance(leaf, Tile)][2:] == hidden


def test_a_stock_tile_is_seen_by_its_drawer() -> None:
    """T9: and by everybody once the round is revealed; a taken discard is open."""
    table = dealt()
    table.discard(Tile.K2)
    (drawn,) = table.act(c.Draw(STOCK))
    assert isinstance(drawn, e.TileDrawn)
    for viewer, sees in ((SPECTATOR, False), (0, False), (1, True), (REVEALED, True)):
        seen = list(leaves(public_event(drawn, viewer)))
        assert (drawn.tile in [leaf for leaf in seen if isinstance(leaf, Tile)]) is sees
    table.discard()
    (taken,) = table.act(c.Draw(PILE))
    assert isinstance(taken, e.TileDrawn)
    for viewer in VIEWERS:
        assert taken.tile in list(leaves(public_event(taken, viewer)))


def test_the_end_of_a_round_publishes_its_seed_and_all_racks() -> None:
    """T9: of the next seed only the commitment."""
    table = dealt()
    seed = table.round.seed
    event = the(table.draw_round(), e.RoundEnded)
    for viewer in VIEWERS:
        seen = list(leaves(public_event(event, viewer)))
        assert seed in seen
        assert event.sealed.seed not in seen
        assert event.sealed.commitment in seen
        assert set(rack(FAR)) <= set(seen)


def test_a_voided_match_publishes_the_seed_that_stood() -> None:
    """T9, M10: but neither the operator's name nor note, nor the new seed."""
    table = nachspiel()
    table.play_on(0, 1)
    table.request_start()
    table.do(c.LeaveSeat(PLAYERS[0]))
    void = the(table.do(c.ConfirmStart(table.state.match_id)), e.MatchVoided)
    by_operator = the(voided(), e.MatchVoided)
    for event in (void, by_operator):
        for viewer in VIEWERS:
            seen = list(leaves(public_event(event, viewer)))
            assert event.revealed in seen
            assert event.sealed.seed not in seen
            assert "operator-7" not in seen
            assert "a private note" not in seen


def test_nobody_learns_which_operator_ended_a_table() -> None:
    """M10: nor why; that it was an operator is in the reason."""
    closed = the(dealt().do(c.VoidTable("operator-7", "a private note")), e.TableClosed)
    for viewer in VIEWERS:
        assert list(leaves(public_event(closed, viewer))) == [closed.reason]


def voided() -> tuple[e.Event, ...]:
    table: Driver = dealt()
    return table.do(c.VoidMatch("operator-7", "a private note"))
