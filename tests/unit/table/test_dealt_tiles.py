"""The tiles as a seed deals them, in play: the starter's fifteenth, and the stock's order."""

import pytest

from okey.rules import deal as dealing
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.errors import AlreadyDrawn
from okey.table.reasons import RoundResult
from okey.table.state import Phase
from tests.factories import PILE, STOCK, Driver, canak, esli, klasik, shuffled, solo, the

KINDS = {
    "canak of 2": canak(),
    "canak of 4": canak(4),
    "solo of 2": solo(),
    "solo of 4": solo(4),
    "esli": esli(),
    "klasik of 2": klasik(),
    "klasik of 4": klasik(4),
}


def deck_of(table: Driver) -> dealing.Deck:
    """What the running round's own seed gives: the tiles in the order in which they leave it."""
    context = dealing.DealContext(
        table.config.table_id, table.state.match_no, table.round.round_no, table.round.nonces
    )
    return dealing.shuffle(table.round.seed, context)


@pytest.mark.parametrize("source", [STOCK, PILE])
@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_the_starters_fifteenth_tile_is_its_draw(config: TableConfig, source: c.DrawSource) -> None:
    """U1, U2: a second one is refused from either side, at every kind of table."""
    shuffled(config).act_refused(c.Draw(source), AlreadyDrawn)


def test_the_stock_is_drawn_in_its_order() -> None:
    """U1, U11: from the top to the last tile, each as the deal put it there."""
    table = shuffled(canak(4))
    left = deck_of(table).tiles[15 + 3 * 14 :]
    table.pass_turn()
    drawn = []
    while table.is_in(Phase.PLAYING):
        drawn.append(table.draw())
        table.discard()
    assert tuple(drawn) == left
    assert the(table.events, e.RoundEnded).result is RoundResult.STOCK_EMPTY


@pytest.mark.parametrize("starter", [0, 1])
@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_the_fifteenth_tile_is_the_last_one_dealt(config: TableConfig, starter: int) -> None:
    """U6, U2: as the seed dealt it, at every kind of table, whoever plays the starter."""
    table = shuffled(config, starter)
    fifteenth = deck_of(table).tiles[14 * config.seat_count]
    before = table.hand(starter).rack
    laid = the(table.time_out(), e.TileDiscarded)
    assert laid == e.TileDiscarded(starter, fifteenth, is_neutral=True)
    assert table.hand(starter).rack == before[:-1]
