"""The figures that measurements are judged by: ranks, limits both ways, reports, profiles."""

import json
from pathlib import Path

import pytest

from tests.bench.engine_live import LiveFigures
from tests.bench.engine_report import Sheet, draw_growth, judged_sheet, profile_sheets
from tests.bench.figures import Judged, Spread


def test_a_spread_names_values_that_were_seen() -> None:
    values = [float(number) for number in range(1, 101)]
    assert Spread.of(values[::-1]) == Spread(100, 50.0, 99.0, 100.0)
    assert Spread.of([7.0]) == Spread(1, 7.0, 7.0, 7.0)
    assert Spread.of([3.0, 1.0]).p50 == 1.0


@pytest.mark.parametrize(
    ("figure", "is_floor", "holds"),
    [(2.0, False, True), (2.01, False, False), (2.0, True, True), (1.99, True, False)],
)
def test_a_limit_is_kept_or_missed(figure: float, is_floor: bool, holds: bool) -> None:
    judged = Judged("what", figure, 2.0, "x", is_floor=is_floor)
    assert judged.holds == holds
    assert judged.row()[-1] == ("holds" if holds else "MISSED")


def test_a_report_says_what_was_missed() -> None:
    sheet = judged_sheet([Judged("a", 1, 2, "ms", aim=1.5), Judged("b", 3, 2, "ms")])
    assert sheet.markdown().splitlines()[2:] == [
        "| what | figure | limit | aim | verdict |",
        "| --- | --- | --- | --- | --- |",
        "| a | 1.00 ms | ≤ 2 ms | 1.5 ms | holds |",
        "| b | 3.00 ms | ≤ 2 ms |  | MISSED |",
    ]
    assert sheet.table().row_count == 2


def test_a_profile_is_told_by_share(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    profile = {"samples": 4, "own": {"a": 1, "b": 3}, "total": {"a": 4, "b": 3}}
    path.write_text(json.dumps(profile))
    own, total = profile_sheets(path)
    assert own.rows == [("75.0%", "b"), ("25.0%", "a")]
    assert total.rows == [("100.0%", "a"), ("75.0%", "b")]
    assert isinstance(own, Sheet)


def test_the_growth_is_drawn(tmp_path: Path) -> None:
    late, slow = Spread.of([1.0, 2.0]), Spread.of([3.0, 9.0])
    figures = [LiveFigures(n, 1.0, n << 20, 0.1, late, slow) for n in (100, 10_000)]
    draw_growth(figures, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
