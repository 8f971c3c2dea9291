"""The levels differ in how well they play; fixed deals, so that a policy that gets worse is seen.

The seed is one of those used for tuning: how strong the bots are is measured by ``make arena``, on
deals of their own.
"""

import pytest

from okey.arena.contest import play_deal
from okey.arena.figures import Figures, summarise
from tests.bench import arena
from tests.bench.arena import LINES, Line, is_reached

TUNING_SEED = 1


def figures(line: Line, deals: int, seed: int = TUNING_SEED) -> Figures:
    contest = line.contest(seed)
    return summarise([play_deal(contest, number) for number in range(1, deals + 1)])


@pytest.mark.deep
@pytest.mark.parametrize(
    ("challenger", "opponent", "deals", "least"),
    [
        ("normal", "random", 5, 1.0),
        pytest.param("normal", "easy", 15, 0.55, marks=pytest.mark.long),
        pytest.param("strong", "neighbours", 15, 0.6, marks=pytest.mark.long),
    ],
)
def test_the_better_one_wins(challenger: str, opponent: str, deals: int, least: float) -> None:
    """W4: easy, normal and strong are what their names say."""
    found = figures(Line(challenger, opponent, 2, deals), deals)
    assert found.round_wins is not None
    assert found.round_wins.value >= least
    assert found.chips.value > 0


@pytest.mark.long
@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_no_line_of_the_long_arena_is_out_of_reach(line: Line) -> None:
    """W4: on part of the arena's own deals, a line may be missed by chance but not clearly."""
    deals = line.deals // 10
    found = figures(line, deals, line.seed)
    asked = line.contest(line.seed).chance if line.floor is None else line.floor
    assert found.round_wins is not None
    assert found.round_wins.high >= asked


def test_a_line_is_reached_by_its_floor_or_by_intervals_that_exclude_a_tie() -> None:
    even = figures(Line("random", "random", 2, 1), 1)
    assert not is_reached(Line("random", "random", 2, 1), even, 0.5)
    better = figures(Line("neighbours", "random", 2, 3), 3)
    assert is_reached(Line("neighbours", "random", 2, 3), better, 0.5)
    assert is_reached(Line("neighbours", "random", 2, 3, floor=1.0), better, 0.5)
    assert not is_reached(Line("neighbours", "random", 2, 3, floor=1.1), better, 0.5)


def test_the_arena_says_which_lines_are_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sure, never = Line("neighbours", "random", 2, 5), Line("random", "neighbours", 2, 5)
    monkeypatch.setattr(arena, "LINES", (sure,))
    assert arena.main(["--deals", "2", "--workers", "1"]) == 0
    assert "reached" in capsys.readouterr().out
    monkeypatch.setattr(arena, "LINES", (sure, never))
    assert arena.main(["--deals", "2", "--workers", "1"]) == 1
    assert "MISSED" in capsys.readouterr().out
