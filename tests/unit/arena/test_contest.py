"""Duplicate deals: the same tiles for both sides, every seat once, the same answer again."""

import pytest

from okey.arena.contest import BOTS, Contest, NoContest, UnknownBot, play_deal
from okey.rules.tile import Tile
from okey.rules.variant import BotLevel, Mode, Variant
from okey.simulation.play import simulate
from okey.table.commands import Action
from okey.table.config import TableConfig
from okey.table.view import TableView

TWO = TableConfig("t", seat_count=2)
FOUR = TableConfig("t")
ESLI = TableConfig("t", mode=Mode.ESLI)
KLASIK = TableConfig("t", variant=Variant.KLASIK, seat_count=2, start_points=3)


@pytest.mark.parametrize(
    ("config", "sides", "chance"),
    [
        (TWO, [{0}, {1}], 0.5),
        (FOUR, [{0}, {1}, {2}, {3}], 0.25),
        (ESLI, [{0, 2}, {1, 3}], 0.5),
    ],
)
def test_the_challenger_has_every_seat_once(
    config: TableConfig, sides: list[set[int]], chance: float
) -> None:
    """O2: in Eşli a side is a pair of partners."""
    contest = Contest(config, "normal", "neighbours", 1)
    assert list(contest.sides) == sides
    assert contest.chance == chance


@pytest.mark.parametrize("config", [TWO, FOUR, ESLI, KLASIK])
def test_a_deal_between_equals_is_even(config: TableConfig) -> None:
    """Whatever the deal, who plays as the opponents do wins its part and leads by nothing."""
    contest = Contest(config, "neighbours", "neighbours", 5)
    result = play_deal(contest, 1)
    assert result == play_deal(contest, 1)
    assert result.matches == len(contest.sides)
    assert sum(result.won.values()) + sum(result.lost.values()) <= result.rounds
    decided = result.matches_won + result.matches_lost
    assert result.matches_won == decided * contest.chance
    assert result.chips == pytest.approx(0)
    assert result.points == pytest.approx(0)


def test_another_number_and_another_seed_are_other_deals() -> None:
    one, other = (Contest(KLASIK, "normal", "neighbours", seed) for seed in (1, 2))
    results = [play_deal(one, 1), play_deal(one, 2), play_deal(other, 1)]
    assert len({(result.chips, result.points, result.rounds) for result in results}) == 3


def test_the_better_bot_leads_in_wins_chips_and_points() -> None:
    """Ç3, K2: the winner has the pot, and its points left."""
    canak = play_deal(Contest(TWO, "normal", "random", 1), 1)
    assert (canak.matches_won, canak.matches_lost, canak.chips, canak.points) == (2, 0, 180.0, 0.0)
    klasik = play_deal(Contest(KLASIK, "normal", "random", 1), 1)
    assert (klasik.matches_won, klasik.matches_lost) == (2, 0)
    assert klasik.points >= 2 * 3
    assert klasik.chips == 2 * 90


def test_later_rounds_are_dealt_alike_however_the_earlier_were_played() -> None:
    """T9: both seatings of a Klasik match meet the same tiles, round by round."""
    seen: list[dict[int, tuple[Tile, ...]]] = []
    for fast in ("normal", "random"):
        dealt: dict[int, tuple[Tile, ...]] = {}

        def look(
            view: TableView,
            level: BotLevel,
            is_stand_in: bool,
            seed: int,
            bot: str = fast,
            dealt: dict[int, tuple[Tile, ...]] = dealt,
        ) -> Action:
            assert view.round is not None
            dealt.setdefault(view.round.round_no, view.round.rack)
            return BOTS[bot](view, level, is_stand_in, seed)

        simulate(KLASIK, 1, 3, look)
        seen.append(dealt)
    first, second = seen
    shared = first.keys() & second.keys()
    assert len(shared) >= 2
    # The starter is the first to look, and the dealer goes round whoever wins.
    assert all(set(first[no]) & set(second[no]) == set(first[no]) for no in shared)


def test_who_cannot_play_is_refused_by_name() -> None:
    """O1: a solo table has one person, so nobody could be compared."""
    with pytest.raises(UnknownBot, match="'kasparov' plays not here: choose from random,"):
        Contest(TWO, "kasparov", "random", 1)
    with pytest.raises(UnknownBot, match="''"):
        Contest(TWO, "random", "", 1)
    with pytest.raises(NoContest, match="O1"):
        Contest(TableConfig("t", mode=Mode.SOLO), "normal", "random", 1)
