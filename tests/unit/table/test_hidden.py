"""What is hidden of each event, and how a table goes on whose hidden parts cannot be known."""

from collections.abc import Callable

import pytest

from okey.rules.variant import Variant
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.evolve import replay
from okey.table.hidden import fresh_seed, hides, masked
from okey.table.public import PublicTableTakenOver, public_event
from okey.table.reasons import CloseReason, VoidReason
from okey.table.state import Phase, TableState
from okey.table.view import SPECTATOR
from tests.factories import (
    PILE,
    STOCK,
    Driver,
    canak,
    dealt,
    klasik,
    paid,
    paused,
    shuffled,
    the,
)


def without_key(table: Driver) -> TableState:
    """The table as one who has no key reads it."""
    return replay([masked(event) for event in table.events])


def takeover(table: Driver) -> tuple[e.Event, ...]:
    """What an engine without the key decides when it takes the table over."""
    table.state = without_key(table)
    return table.do(c.TakeOver("engine-2", table.now_ms))


def played(table: Driver) -> Driver:
    """A round with a draw from the stock, one from the pile, and discards."""
    table.pass_turn()
    table.pass_turn()
    return table


def test_deal_nonces_and_stock_draws_are_hidden_and_piles_are_not() -> None:
    """T9: nothing public before the end lets anyone derive a hidden tile."""
    table = shuffled()
    deal = the(table.events, e.RoundDealt)
    assert hides(deal)
    assert hides(e.NonceAdded(0, b"\1" * 32))
    assert hides(e.TileDrawn(0, STOCK, deal.stock[0], is_neutral=False))
    assert not hides(e.TileDrawn(0, PILE, deal.stock[0], is_neutral=False))
    assert not hides(the(table.events, e.MatchStarted))


def test_a_masked_event_keeps_its_shape_and_loses_what_is_hidden() -> None:
    deal = the(shuffled().events, e.RoundDealt)
    blank = masked(deal)
    assert isinstance(blank, e.RoundDealt)
    assert (blank.racks, blank.stock, blank.nonces) == (((), ()), (), (b"", b""))
    assert (blank.gosterge, blank.starter) == (deal.gosterge, deal.starter)
    assert masked(e.NonceAdded(1, b"\1" * 32)) == e.NonceAdded(1, b"")
    drawn = masked(e.TileDrawn(0, STOCK, deal.stock[0], is_neutral=False))
    assert isinstance(drawn, e.TileDrawn)
    assert drawn.tile is None
    taken = e.TileDrawn(0, PILE, deal.stock[0], is_neutral=False)
    assert masked(taken) == taken


def test_the_next_rounds_seed_is_masked_and_its_commitment_is_not() -> None:
    """T9: the commitment is public, the seed is not."""
    opened = the(paid().events, e.TableOpened)
    blank = masked(opened)
    sealed = fresh_seed(opened)
    assert sealed is not None
    assert sealed.seed
    assert fresh_seed(blank) == c.SealedSeed(b"", sealed.commitment)
    assert fresh_seed(e.CountdownCancelled()) is None
    assert masked(e.CountdownCancelled()) == e.CountdownCancelled()


def test_without_the_key_the_public_part_of_a_round_is_read() -> None:
    table = played(dealt())
    found = without_key(table)
    assert found.round is not None
    assert found.round.turn is not None
    assert found.round.turn.number == table.turn.number
    assert [hand.pile for hand in found.round.hands] == [h.pile for h in table.round.hands]
    assert not found.round.seed


@pytest.mark.parametrize("config", [canak(), klasik()], ids=["canak", "klasik"])
def test_a_running_match_whose_key_is_lost_is_voided(config: TableConfig) -> None:
    """M10: every stake back; the seed, which nobody knows, is not published."""
    table = played(dealt(config))
    decided = takeover(table)
    voided = the(decided, e.MatchVoided)
    assert (voided.reason, voided.revealed) == (VoidReason.KEY_LOST, b"")
    assert voided.sealed.seed
    assert table.state.round is None
    if config.variant is Variant.KLASIK:
        assert the(decided, e.TableClosed).reason is CloseReason.VOIDED
    else:
        assert table.is_in(Phase.NACHSPIEL)


@pytest.mark.parametrize("build", [paid, paused])
def test_a_seed_that_was_not_dealt_from_is_replaced(build: Callable[[], Driver]) -> None:
    """Nonces were for the seed before, so they go with it."""
    table = build()
    match = table.state.match
    taken = the(takeover(table), e.TableTakenOver)
    assert taken.sealed is not None
    assert table.state.sealed == taken.sealed
    assert table.state.match == match
    assert {seat.nonce for seat in table.state.seats} == {b""}
    assert public_event(taken, SPECTATOR) == PublicTableTakenOver(
        taken.timers, taken.sealed.commitment
    )
