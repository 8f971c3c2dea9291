"""The worked numbers of docs/rating.md, read from the page and computed."""

import pytest

from okey.rating import (
    CanakWon,
    Drawn,
    KlasikWon,
    Outcome,
    RatedMatch,
    Standing,
    expected_score,
    rate_forfeit,
    rate_match,
    soft_reset,
)
from okey.rules.rule_set import DEFAULT_RULE_SET
from tests.unit.rating.matches import canak, esli, klasik, player
from tests.unit.rating.page import TABLES


def milli(text: str) -> int:
    """A number of the page in milli-points; its minus sign is a real one."""
    points, _, rest = text.replace("−", "-").partition(".")
    thousandths = int(f"{rest:0<3}")
    return int(points) * 1000 + (-thousandths if points.startswith("-") else thousandths)


def points_in(row: list[str]) -> list[int]:
    """The leading whole number of each cell but the first."""
    return [int(cell.partition(" ")[0]) for cell in row[1:]]


def deltas(match: RatedMatch, outcome: Outcome) -> dict[int, int]:
    rating = rate_match(match, outcome, DEFAULT_RULE_SET)
    return {change.seat: change.delta_milli for change in rating.changes}


def test_a_number_of_the_page_is_read_to_the_milli_point() -> None:
    assert [milli(text) for text in ("+3.844", "−0.484", "0", "1212.801", "−10.000")] == [
        3_844,
        -484,
        0,
        1_212_801,
        -10_000,
    ]


def test_expected_scores() -> None:
    """R1: the table in millionths, and its end."""
    head, row = TABLES["lead in points"]
    for lead, score in zip(points_in(head), row[1:], strict=True):
        assert f"{expected_score(lead * 1000) / 1_000_000:.6f}" == score
        assert expected_score(-lead * 1000) == 1_000_000 - expected_score(lead * 1000)
    assert head[-1] == "2000 and more"
    assert expected_score(9_000_000) == expected_score(2_000_000)


TWO_SEATS = {
    "two new players, 1200 and 1200": (player(), player()),
    "two settled players, 1200 and 1200": (player(matches=20), player(matches=20)),
    "a new one beats a settled one, both 1200": (player(), player(matches=20)),
    "settled, 1400 beats 1200": (player(1400, matches=20), player(1200, matches=20)),
    "settled, 1200 beats 1400": (player(1200, matches=20), player(1400, matches=20)),
}


@pytest.mark.parametrize("row", TABLES["Çanak, 2 seats"][1:], ids=lambda row: row[0])
def test_two_seats(row: list[str]) -> None:
    """R1: K is the mean of two, the change K × (1 − expected)."""
    name, k, expected, winner, loser = row
    first, second = TWO_SEATS[name]
    rules = DEFAULT_RULE_SET
    assert int(k) * 2 == first.standing.k(rules) + second.standing.k(rules)
    lead = first.standing.rating_milli - second.standing.rating_milli
    assert int(float(expected) * 1_000_000 + 0.5) == expected_score(lead)
    assert deltas(canak(first, second), CanakWon(0)) == {0: milli(winner), 1: milli(loser)}


def test_four_seats_of_canak() -> None:
    """R2: the winner against each other player, a third of K each."""
    head, row = TABLES["all settled"]
    assert "(winner)" in head[1]
    match = canak(*(player(points, matches=20) for points in points_in(head)))
    assert deltas(match, CanakWon(0)) == dict(enumerate(map(milli, row[1:])))


@pytest.mark.parametrize(
    ("name", "winner"),
    [
        ("remaining points (all new, all 1200)", 1),
        ("remaining points; the third won the tie-break", 2),
    ],
)
def test_four_seats_of_klasik(name: str, winner: int) -> None:
    """R2, K6: every pair by remaining points; a tie-break decides among the tied."""
    head, row = TABLES[name]
    points = tuple(int(cell.replace("−", "-")) for cell in head[1:])
    match = klasik(player(), player(), player(), player())
    assert deltas(match, KlasikWon(winner, points)) == dict(enumerate(map(milli, row[1:])))


def test_esli() -> None:
    """R3: team mean against team mean; partners get the same."""
    head, first, second = TABLES["all settled: 1400 + 1200 against 1300 + 1100"]
    one, mate, other, its_mate = (player(points, matches=20) for points in points_in(head))
    match = esli(one, other, mate, its_mate)
    for row, winner in ((first, 0), (second, 1)):
        changes = deltas(match, CanakWon(winner))
        assert [changes[seat] for seat in (0, 2, 1, 3)] == list(map(milli, row[1:]))


def test_giving_up_with_two_seats() -> None:
    """R5: exactly 20 at once; the other gets what the win would have brought, the sink the rest."""
    stays, quits, sink = (list(map(milli, row[1:])) for row in TABLES["two new players"][1:])
    price = rate_forfeit(1, DEFAULT_RULE_SET)
    assert [change.delta_milli for change in price.changes] == [quits[1] - quits[0]] == [-20_000]
    match = canak(player(stays[0] // 1000), player(quits[0] // 1000, gave_up=True))
    end = rate_match(match, Drawn(), DEFAULT_RULE_SET)
    assert [change.delta_milli for change in end.changes] == [stays[2] - stays[1]]
    assert (stays[0], quits[2]) == (stays[1], quits[1])
    assert sink == [0, price.sink_milli, price.sink_milli + end.sink_milli]


def test_soft_resets() -> None:
    """R1: half of the distance stays, rounded towards the start; the rated matches stay."""
    head, row = TABLES["keep 50 %"]
    for before, after in zip(head[1:], row[1:], strict=True):
        reset = soft_reset(Standing(milli(before), 7), 1_200_000, 50)
        assert reset == Standing(milli(after), 7)


@pytest.mark.parametrize("row", TABLES["Eşli, all settled, all 1200"][1:], ids=lambda row: row[0])
def test_giving_up_in_esli(row: list[str]) -> None:
    """R5: who stays is rated as if nobody had left; a losing pair pays more with each forfeit."""
    who, *cells = row
    leavers = ESLI_LEAVERS[who]
    seats = [player(matches=20, gave_up=seat in leavers) for seat in range(4)]
    end = rate_match(esli(*seats), CanakWon(0), DEFAULT_RULE_SET)
    changes = dict.fromkeys(leavers, -DEFAULT_RULE_SET.forfeit_milli_points)
    changes |= {change.seat: change.delta_milli for change in end.changes}
    winners, losers = changes[0] + changes[2], changes[1] + changes[3]
    sink = len(leavers) * DEFAULT_RULE_SET.forfeit_milli_points + end.sink_milli
    assert [milli(cell) for cell in cells] == [winners, losers, sink]
    assert winners + losers + sink == 0


ESLI_LEAVERS: dict[str, set[int]] = {
    "nobody": set(),
    "one of the losers": {1},
    "both losers": {1, 3},
    "one of the winners": {2},
    "one of each": {1, 2},
}
