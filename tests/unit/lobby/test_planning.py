"""Plans: who fits is matched, near ones first, and no match is left among those left over."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.lobby.planning import AT_TABLE_MS, plan, plan_with_bots
from services.lobby.waiting import Unit
from services.lobby.windows import RatingWindow
from tests.unit.lobby.queues import NOW_MS, alone, names, party

WINDOW = RatingWindow(points=100, doubles_every_ms=5_000, opens_after_ms=30_000)


def planned(units: list[Unit], seats: int = 2) -> tuple[list[list[str]], list[str]]:
    matches, left = plan(units, seats, WINDOW, NOW_MS)
    return [names(match) for match in matches], names(tuple(left))


def test_the_nearest_rating_is_taken_first() -> None:
    units = [alone("ada", 1, 1_200), alone("bo", 2, 1_290), alone("cem", 3, 1_180)]
    assert planned(units) == ([["ada", "cem"]], ["bo"])


def test_of_equal_distance_the_one_who_came_first_is_taken_below() -> None:
    units = [alone("ada", 1, 1_200), alone("bo", 2, 1_250), alone("cem", 3, 1_150)]
    assert planned(units) == ([["ada", "cem"]], ["bo"])


@pytest.mark.parametrize(
    ("waited_ms", "is_matched"), [(0, False), (4_999, False), (5_000, True), (30_000, True)]
)
def test_the_window_widens_with_waiting(waited_ms: int, is_matched: bool) -> None:
    units = [alone("ada", 1, 1_200, waited_ms=waited_ms), alone("bo", 2, 1_400)]
    assert bool(planned(units)[0]) is is_matched


def test_who_has_waited_longest_decides() -> None:
    """However far away a rating lies, it is not left alone for ever among others."""
    far = alone("ada", 1, 2_900, waited_ms=30_000)
    assert planned([far, alone("bo", 2, 1_200)]) == ([["ada", "bo"]], [])
    assert planned([alone("ada", 1, 2_900), alone("bo", 2, 1_200)])[0] == []
    # A party may have come first and be complete only now: then it has not waited longest.
    late = [alone("bo", 1, 1_200), alone("ada", 2, 2_900, waited_ms=30_000)]
    assert planned(late)[0] == [["ada", "bo"]]


def test_four_are_the_three_nearest_to_the_eldest() -> None:
    units = [
        alone("ada", 1, 1_200),
        alone("bo", 2, 1_299),
        alone("cem", 3, 1_210),
        alone("deniz", 4, 1_150),
        alone("ece", 5, 1_220),
    ]
    assert planned(units, 4) == ([["ada", "cem", "ece", "deniz"]], ["bo"])


def test_too_few_wait_on() -> None:
    units = [alone("ada", 1), alone("bo", 2), alone("cem", 3)]
    assert planned(units, 4) == ([], ["ada", "bo", "cem"])


def test_a_party_plays_two_alone_or_another_party() -> None:
    """O2: parties of two."""
    pair, other = party("ada", "bo", 1), party("cem", "deniz", 3)
    singles = [alone("ece", 5), alone("fuat", 6)]
    assert planned([pair, *singles], 4)[0] == [["ada", "bo", "ece", "fuat"]]
    assert planned([pair, other], 4)[0] == [["ada", "bo", "cem", "deniz"]]
    assert planned([singles[0], pair], 4) == ([], ["ece", "ada", "bo"])
    first = [alone("ece", 0), pair, alone("fuat", 6)]
    assert planned(first, 4)[0] == [["ece", "ada", "bo", "fuat"]]


def test_two_parties_and_one_alone_leave_the_one_alone_out() -> None:
    units = [alone("ece", 0), party("ada", "bo", 1), party("cem", "deniz", 3)]
    assert planned(units, 4) == ([["ada", "bo", "cem", "deniz"]], ["ece"])


RATINGS = st.sampled_from([1_000, 1_090, 1_150, 1_400, 1_900])
WAITS = st.sampled_from([0, 4_000, 6_000, 20_000, 40_000])


@st.composite
def queues(draw: st.DrawFn) -> list[Unit]:
    units = []
    for order in range(0, 2 * draw(st.integers(0, 9)), 2):
        if draw(st.booleans()):
            units.append(alone(f"p{order}", order, draw(RATINGS), waited_ms=draw(WAITS)))
        else:
            ratings = (draw(RATINGS), draw(RATINGS))
            units.append(party(f"p{order}", f"q{order}", order, ratings))
    return units


def fits(units: tuple[Unit, ...]) -> bool:
    """The rule in its own words: everybody lies in the window of who has waited longest."""
    eldest = min(units, key=lambda unit: unit.since_ms)
    reach = WINDOW.reach_milli(NOW_MS - eldest.since_ms)
    return all(abs(unit.rating_milli - eldest.rating_milli) <= reach for unit in units)


@given(queues())
def test_two_tickets_that_fit_never_both_stay(units: list[Unit]) -> None:
    """Every match is one that fits, nobody is in two, and what is left holds no match at all."""
    matches, left = plan(units, 4, WINDOW, NOW_MS)
    assert sorted([*(unit.order for m in matches for unit in m), *(u.order for u in left)]) == [
        unit.order for unit in units
    ]
    for match in matches:
        assert sum(unit.size for unit in match) == 4
        assert fits(match)
    for size in (2, 3, 4):
        for some in combinations(left, size):
            assert sum(unit.size for unit in some) != 4 or not fits(some)


def test_bots_come_after_the_set_wait_and_never_unasked() -> None:
    """W5: off by default; the rest of the wait is spent at the table."""
    early = [alone("ada", 1, waited_ms=9_999 - AT_TABLE_MS, fill_ms=10_000)]
    due = [alone("ada", 1, waited_ms=10_000 - AT_TABLE_MS, fill_ms=10_000)]
    never = [alone("ada", 1, waited_ms=10**6)]
    assert plan_with_bots(early, 4, WINDOW, NOW_MS) == []
    assert plan_with_bots(never, 4, WINDOW, NOW_MS) == []
    assert [names(match) for match in plan_with_bots(due, 4, WINDOW, NOW_MS)] == [["ada"]]


def test_people_who_allow_bots_share_a_table_with_them() -> None:
    """W5: bots take only the seats that are free."""
    units = [
        alone("ada", 1, waited_ms=9_000, fill_ms=10_000),
        alone("bo", 2, fill_ms=60_000),
        alone("cem", 3),
        alone("far", 4, 2_900, fill_ms=60_000),
    ]
    assert [names(m) for m in plan_with_bots(units, 4, WINDOW, NOW_MS)] == [["ada", "bo"]]


def test_ten_thousand_are_planned_in_little_work() -> None:
    """Each unit looks at its neighbours only, however many there are."""
    units = [alone(f"p{n}", n, 800 + n * 7919 % 900) for n in range(10_000)]
    matches, left = plan(units, 4, WINDOW, NOW_MS)
    assert len(matches) > 2_490
    assert len(left) == 10_000 - 4 * len(matches)
