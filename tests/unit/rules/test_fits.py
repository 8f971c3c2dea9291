"""Sets of (places, kept) in one integer."""

from okey.rules.fits import AT_LEAST, most_by_places, places_and_kept, point, points_of


def fit(*pairs: tuple[int, int]) -> int:
    return sum(1 << point(places, kept) for places, kept in pairs)


def test_a_point_is_a_pair() -> None:
    assert places_and_kept(point(14, 13)) == (14, 13)


def test_parts_are_combined_by_adding_their_points() -> None:
    """H2: 2 tiles on 3 places and 3 tiles on 4 places are 5 on 7."""
    assert places_and_kept(point(3, 2) + point(4, 3)) == (7, 5)


def test_at_least_asks_for_no_more_places_and_no_fewer_tiles() -> None:
    """H1: up to 14 places."""
    nine_on_twelve = fit((12, 9))
    assert nine_on_twelve & AT_LEAST[12][9]
    assert nine_on_twelve & AT_LEAST[14][8]
    assert not nine_on_twelve & AT_LEAST[11][9]
    assert not nine_on_twelve & AT_LEAST[14][10]


def test_points_of_a_fit_keep_more_for_more_places() -> None:
    """H2: what keeps no more tiles than fewer places do is left out."""
    points = points_of(fit((0, 0), (3, 1), (3, 2), (4, 2), (6, 3)))
    assert [places_and_kept(position) for position in points] == [(0, 0), (3, 2), (6, 3)]


def test_the_most_by_places_is_a_step_at_each_point() -> None:
    """H1: 16 bits for each of 0..14 places."""
    table = most_by_places(points_of(fit((0, 0), (3, 2), (6, 3), (14, 9))))
    most = [table >> 16 * places & 0xFFFF for places in range(15)]
    assert most == [0, 0, 0, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 9]
    assert table >> 16 * 15 == 0
