"""What ratings do to many people in many matches: right order, no inflation, nothing to farm.

Each in a quick form, and in a long one of 100,000 matches.
"""

import random
import statistics
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from okey.rating import (
    CanakWon,
    Departure,
    KlasikWon,
    Outcome,
    RatedMatch,
    rate_forfeit,
    rate_match,
)
from tests.unit.rating.matches import canak, ended_matches, esli, klasik, player
from tests.unit.rating.page import PAGE, TABLES
from tests.unit.rating.population import KINDS, RULES, Person, Population, rank_correlation

pytestmark = pytest.mark.deep

START = 1_200_000
QUICK, LONG = 6_000, 100_000
LENGTHS = [QUICK, pytest.param(LONG, marks=pytest.mark.long)]


def mean(people: list[Person]) -> float:
    return statistics.fmean(person.points for person in people)


@pytest.mark.parametrize(
    ("people", "matches", "least"),
    [
        (60, QUICK, 0.95),
        pytest.param(1_000, LONG, 0.95, marks=pytest.mark.long),
    ],
)
def test_the_order_of_known_strengths_is_recovered(people: int, matches: int, least: float) -> None:
    """R1..R3: who is stronger stands higher, and the distances come out too."""
    population = Population.of(people, seed=1)
    population.play_at_random(matches)
    strengths = [person.strength for person in population.people]
    ratings = [person.points for person in population.people]
    assert rank_correlation(strengths, ratings) > least
    assert statistics.correlation(strengths, ratings) > least


def test_the_page_says_how_long_the_simulations_are() -> None:
    """R1..R5: docs/rating.md names the long form, and the quick one of every run."""
    assert f"Simulations of {LONG:,} matches show it" in PAGE
    assert f"up to {QUICK:,} with each `make test`" in PAGE


def test_unrelated_orders_do_not_correlate() -> None:
    """The measure can fail."""
    chance = random.Random(3)
    strengths = [chance.random() for _ in range(400)]
    assert rank_correlation(strengths, strengths) == 1
    assert rank_correlation(strengths, [-each for each in strengths]) == -1
    assert abs(rank_correlation(strengths, [chance.random() for _ in range(400)])) < 0.15


@pytest.mark.parametrize("matches", LENGTHS)
def test_nothing_inflates_but_into_the_sink(matches: int) -> None:
    """R1, R5: ratings and sink stay at the start's sum to the milli-point, quitters or not."""
    population = Population.of(200, seed=2)
    quitters = population.people[:20]
    population.play_at_random(matches, quitters)
    assert population.total_milli() == 200 * START
    assert population.forfeits > matches // 20
    assert 0 < population.sink_milli <= population.forfeits * 20_000
    honest = Population.of(200, seed=2)
    honest.play_at_random(matches)
    assert (honest.sink_milli, honest.total_milli()) == (0, 200 * START)


@pytest.mark.parametrize("matches", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_who_gives_up_lost_matches_ends_below_its_equals(kind: str, matches: int) -> None:
    """R5: leaving never pays, in whatever is played."""
    population = Population.of(80, seed=4, spread=0)
    quitters, others = population.people[:20], population.people[20:]
    size = 2 if kind == "canak of two" else 4
    for _ in range(matches):
        population.play(kind, population.chance.sample(population.people, size), quitters)
    assert mean(quitters) < mean(others) - 50
    assert max(person.points for person in quitters) < mean(others)


@pytest.mark.parametrize("matches", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_people_who_only_play_each_other_gain_nothing_together(kind: str, matches: int) -> None:
    """R1, R5: whoever they let win, and whoever gives up."""
    ring = Population([Person(1200) for _ in range(4)], random.Random(5))
    size = 2 if kind == "canak of two" else 4
    highest = 4 * START
    for _ in range(matches):
        seats = ring.chance.sample(ring.people, size)
        before = sum(person.standing.rating_milli for person in ring.people)
        # Always for the first of them, now and then by giving up.
        gone = [1] if ring.chance.random() < 0.3 else []
        ring.end(kind, seats, 0, gone)
        after = sum(person.standing.rating_milli for person in ring.people)
        assert after <= before, "a match among themselves brought them points"
        assert (after == before) == (not gone)
        highest = max(highest, after)
    assert highest == 4 * START
    assert ring.total_milli() == 4 * START


@pytest.mark.parametrize("matches", LENGTHS)
def test_helping_a_friend_costs_the_helper_what_it_brings(matches: int) -> None:
    """R1: a pair that lets one win gains nothing as a pair, and less and less for the one."""
    pair = Population([Person(1200), Person(1200)], random.Random(6))
    friend, helper = pair.people
    gains = []
    for _ in range(matches):
        before = friend.points
        pair.end("canak of two", [friend, helper], 0)
        gains.append(friend.points - before)
    assert friend.points + helper.points == pytest.approx(2_400)
    assert gains[0] == 10
    assert gains[-1] == 0 or gains[-1] < 0.1
    assert friend.points - helper.points < 2_000


def leaving(match: RatedMatch, group: set[int], leavers: set[int]) -> RatedMatch:
    """The match with ``leavers`` giving up and the others of the group staying."""
    seats = tuple(
        replace(owner, departure=Departure.FORFEITED if seat in leavers else Departure.NONE)
        if owner and seat in group
        else owner
        for seat, owner in enumerate(match.seats)
    )
    return replace(match, seats=seats)


def group_gains(match: RatedMatch, outcome: Outcome, group: set[int]) -> int:
    """What the players of a group gain together, at once and at the end."""
    changes = [*rate_match(match, outcome, RULES).changes]
    for seat in group - match.people_left().keys():
        changes += rate_forfeit(seat, RULES).changes
    return sum(change.delta_milli for change in changes if change.seat in group)


def results(match: RatedMatch, outcome: Outcome, leavers: set[int]) -> list[Outcome]:
    """The same result, and what it becomes if a Klasik match's winner is among ``leavers``: the
    best person left wins (K9).
    """
    people = match.people_left()
    if not isinstance(outcome, KlasikWon) or outcome.winner_seat not in leavers or not people:
        return [outcome]
    best = max(people, key=outcome.remaining_points.__getitem__)
    return [outcome, replace(outcome, winner_seat=best)]


def subsets(seats: Iterable[int]) -> list[set[int]]:
    """Every way to choose some, or none."""
    chosen: list[set[int]] = [set()]
    for seat in seats:
        chosen += [{*each, seat} for each in chosen]
    return chosen


FAVOURITES_OF_FOUR = tuple(player(points) for points in (1500, 1200, 1500, 1200))


@example((esli(*FAVOURITES_OF_FOUR), CanakWon(1)))
@example((canak(*FAVOURITES_OF_FOUR), CanakWon(1)))
@example((klasik(*FAVOURITES_OF_FOUR), KlasikWon(1, (0, 9, 0, 9))))
@example((canak(player(1500), player(1200)), CanakWon(1)))
@given(ended_matches(st.sampled_from([*[Departure.NONE] * 4, *Departure])))
def test_a_group_never_gains_by_giving_up(ended: tuple[RatedMatch, Outcome]) -> None:
    """R5: a group of colluders, by any choice of giving up, never has a higher sum of changes than
    by staying to the same result.

    Every group and every choice, in every mode, at any ratings, whoever else has left.
    """
    match, outcome = ended
    for group in subsets(range(len(match.seats))):
        stays = group_gains(leaving(match, group, set()), outcome, group)
        for leavers in subsets(group):
            left = leaving(match, group, leavers)
            for result in results(left, outcome, leavers):
                assert group_gains(left, result, group) <= stays, (group, leavers, result)


@pytest.mark.parametrize("matches", [1_000, pytest.param(LONG, marks=pytest.mark.long)])
def test_a_pair_in_esli_gains_nothing_by_giving_up_lost_matches(matches: int) -> None:
    """R5: its total falls with one who leaves, and further with two; the sink has what it lost."""
    honest, one_leaves, both_leave = (esli_pair(matches, leavers) for leavers in range(3))
    assert sum(honest[:2]) > sum(one_leaves[:2]) > sum(both_leave[:2])
    for *_, population in (honest, one_leaves, both_leave):
        assert population.total_milli() == 40 * START
    sinks = [population.sink_milli for *_, population in (honest, one_leaves, both_leave)]
    assert sinks[0] == 0 < sinks[1] < sinks[2]


def test_what_the_page_says_of_a_pair_in_esli() -> None:
    """R3, R5: who leaves lifts its partner at its own cost; docs/rating.md names the numbers."""
    page = TABLES["Eşli, strengths 1500 + 1500, 1,000 matches"]
    for leavers, row in enumerate(page[1:]):
        payer, keeper, _ = esli_pair(1_000, leavers)
        found = [round(payer), round(keeper), round(payer + keeper)]
        assert [int(cell) for cell in row[1:]] == found, row[0]


def esli_pair(matches: int, leavers: int) -> tuple[float, float, Population]:
    """What two partners end with who are 300 points better than all others, if so many of them
    give up each lost match.
    """
    population = Population.of(40, seed=8, spread=0)
    *others, payer, keeper = population.people
    payer.strength = keeper.strength = 1_500
    for _ in range(matches):
        first, second = population.chance.sample(others, 2)
        population.play("eşli", [payer, first, keeper, second], [payer, keeper][:leavers])
    return payer.points, keeper.points, population
