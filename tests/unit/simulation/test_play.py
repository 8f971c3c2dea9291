"""The simulation: whole matches of every kind, deterministic, and not a chip lost."""

from collections import Counter

import pytest

from okey.bots.choose import choose
from okey.money.account import Account
from okey.rules.variant import Mode, Variant
from okey.simulation.play import simulate
from okey.table.config import TableConfig

KINDS = {
    "canak-2": TableConfig("t", seat_count=2),
    "canak-4": TableConfig("t"),
    "solo-2": TableConfig("t", mode=Mode.SOLO, seat_count=2),
    "solo-4": TableConfig("t", mode=Mode.SOLO),
    "esli": TableConfig("t", mode=Mode.ESLI),
    "klasik-2": TableConfig("t", variant=Variant.KLASIK, seat_count=2, start_points=5),
    "klasik-4": TableConfig("t", variant=Variant.KLASIK, start_points=3),
}


@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS.keys())
def test_whole_matches_are_played_and_every_chip_is_somewhere(config: TableConfig) -> None:
    """M3, M5: the accounts sum to zero, and nothing is left in escrow, pot or kasa."""
    report = simulate(config, matches=3, seed=7, policy=choose)
    assert report.matches == 3 == sum(report.outcomes.values())
    assert report.total == 0
    assert sum(report.wins_by_seat.values()) <= report.matches <= report.rounds
    left = {name: chips for name, chips in report.balances.items() if _is_passing(name) and chips}
    assert left == {}


def _is_passing(account: Account) -> bool:
    return account.startswith(("escrow:", "pot:", "kasa:"))


def test_the_same_seed_plays_the_same_and_another_does_not() -> None:
    """T9: a deal is a function of its seed, and a bot of what it sees."""
    one, two, other = (simulate(KINDS["canak-2"], 2, seed, choose) for seed in (1, 1, 2))
    assert (one.moves, one.balances, one.finishes) == (two.moves, two.balances, two.finishes)
    assert (one.moves, one.balances) != (other.moves, other.balances)


def test_klasik_takes_its_rake_from_every_pot() -> None:
    """K7: ten percent of each pot is the house's."""
    report = simulate(KINDS["klasik-2"], matches=4, seed=3, policy=choose)
    assert report.balances[Account("house:rake")] == 4 * (2 * 50) // 10


def test_draws_give_the_pot_back() -> None:
    """Ç7, U11: players who never finish draw every round, and keep what is not in the kasa."""
    from okey.table import commands as c
    from okey.table.legal import LegalAction
    from okey.table.view import TableView

    def passive(view: TableView, _level: object, _is_stand_in: bool, _seed: int) -> c.Action:
        assert view.round is not None
        if LegalAction.DRAW_STOCK in view.legal_actions:
            return c.Draw(c.DrawSource.STOCK)
        return c.Discard(view.round.rack[-1])

    report = simulate(KINDS["canak-2"], 2, 5, passive)
    assert report.outcomes == Counter(CANAK_DRAW=2)
    assert report.finishes == Counter()
    assert report.balances[Account("house:unclaimed")] == 0
    assert report.chips_by_seat == Counter({0: 0, 1: 0})  # Ç10: the kasa too
    assert report.wins_by_seat == Counter()
