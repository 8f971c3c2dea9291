"""The rating window widens with waiting, and opens for everybody in the end."""

import pytest

from services.lobby.windows import ANYBODY, RatingWindow

WINDOW = RatingWindow(points=100, doubles_every_ms=5_000, opens_after_ms=30_000)


@pytest.mark.parametrize(
    ("waited_ms", "points"),
    [(-5, 100), (0, 100), (4_999, 100), (5_000, 200), (12_000, 400), (29_999, 3_200)],
)
def test_the_window_doubles_with_each_wait(waited_ms: int, points: int) -> None:
    assert WINDOW.reach_milli(waited_ms) == points * 1_000


def test_nobody_is_too_far_away_for_ever() -> None:
    assert WINDOW.reach_milli(30_000) == ANYBODY
    assert RatingWindow(opens_after_ms=0).reach_milli(0) == ANYBODY


def test_a_window_that_never_opens_stays_a_number() -> None:
    assert RatingWindow(opens_after_ms=10**15).reach_milli(10**12) <= ANYBODY
