"""R6 and R7: what tables behind an invite code and frequent meetings change."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from okey.rating import CanakWon, KlasikWon, Outcome, RatedMatch, rate_forfeit, rate_match
from okey.rating.rate import UNRATED, MatchRating, Pair
from okey.rules.rule_set import DEFAULT_RULE_SET, RULE_SET_2026_11
from tests.farm import FRESH, farmed_milli
from tests.unit.rating.matches import canak, ended_matches, esli, klasik, player

RULES = DEFAULT_RULE_SET


def rated(match: RatedMatch, outcome: Outcome, meetings: dict[Pair, int]) -> MatchRating:
    return rate_match(match, outcome, RULES, meetings)


def deltas(match: RatedMatch, outcome: Outcome, meetings: dict[Pair, int]) -> dict[int, int]:
    return {change.seat: change.delta_milli for change in rated(match, outcome, meetings).changes}


def test_a_meeting_is_divided_by_its_number_rounded_towards_zero() -> None:
    """R7: 10 points at the first meeting, 5 at the second, 3.333 at the third."""
    match = canak(player(), player())
    found = [deltas(match, CanakWon(1), {(0, 1): before}) for before in range(3)]
    assert found == [{0: -10_000, 1: 10_000}, {0: -5_000, 1: 5_000}, {0: -3_333, 1: 3_333}]


def test_only_the_pair_that_met_before_is_divided() -> None:
    """R7, R2: a winner of four who met one of the others twice before; losers are no pair."""
    match = canak(*[player()] * 4)
    rating = rated(match, CanakWon(2), {(1, 2): 2, (0, 1): 9})
    assert rating.met == ((0, 2), (1, 2), (2, 3))
    changes = {change.seat: change.delta_milli for change in rating.changes}
    assert changes == {0: -3_333, 1: -1_111, 2: 3_333 + 1_111 + 3_333, 3: -3_333}


def test_every_pair_of_a_klasik_match_is_a_meeting() -> None:
    """R7, R2: equal points too; those who left are in none."""
    match = klasik(player(), player(), player(gave_up=True), player())
    rating = rated(match, KlasikWon(0, (5, 3, 9, 3)), {(1, 3): 4})
    assert rating.met == ((0, 1), (0, 3), (1, 3))
    assert {c.seat: c.delta_milli for c in rating.changes} == {0: 6_666, 1: -3_333, 3: -3_333}


def test_two_teams_meet_as_often_as_those_of_their_players_who_met_most() -> None:
    """R7, R3: partners get the same change; having been partners is no meeting."""
    match = esli(*[player()] * 4)
    assert rated(match, CanakWon(0), {}).met == ((0, 1), (0, 3), (1, 2), (2, 3))
    changed = deltas(match, CanakWon(0), {(0, 2): 7, (2, 3): 3, (0, 1): 1})
    assert changed == {0: 2_500, 1: -2_500, 2: 2_500, 3: -2_500}


def test_the_gain_from_who_gave_up_is_divided_and_the_price_never() -> None:
    """R7, R5: 10 points at the first forfeit, 2 at the fifth; 20 are taken each time."""
    match = canak(player(), player(gave_up=True))
    assert deltas(match, CanakWon(0), {}) == {0: 10_000}
    assert deltas(match, CanakWon(0), {(0, 1): 4}) == {0: 2_000}
    assert rated(match, CanakWon(0), {}).met == ((0, 1),)
    assert rate_forfeit(1, RULES).changes[0].delta_milli == -20_000


def test_a_table_behind_an_invite_code_is_unrated() -> None:
    """R6: and sells nobody the win over who gives up; before 2026.12 it did."""
    for match in (canak(player(), player()), canak(player(), player(gave_up=True))):
        private = replace(match, is_private=True)
        assert rate_match(private, CanakWon(0), RULES) == UNRATED
        assert rate_match(private, CanakWon(0), RULE_SET_2026_11).changes[0].delta_milli == 10_000


PAIRS = st.sampled_from([(0, 1), (0, 2), (1, 3)])


@given(ended_matches(), st.dictionaries(PAIRS, st.integers(0, 9)))
def test_meetings_shrink_changes_and_keep_the_sum(
    ended: tuple[RatedMatch, Outcome], meetings: dict[Pair, int]
) -> None:
    """R7, R1: what is rated stays rated, nobody's change of two seats grows, all sum to zero."""
    match, outcome = ended
    whole, shrunk = rated(match, outcome, {}), rated(match, outcome, meetings)
    assert shrunk.met == whole.met
    assert [c.seat for c in shrunk.changes] == [c.seat for c in whole.changes]
    assert sum(change.delta_milli for change in shrunk.changes) + shrunk.sink_milli == 0
    if len(match.seats) == 2:
        pairs = zip(shrunk.changes, whole.changes, strict=True)
        assert all(abs(new.delta_milli) <= abs(old.delta_milli) for new, old in pairs)


def test_a_star_gains_nothing_a_day_from_mules_that_it_meets_by_itself() -> None:
    """R6, R7: less than 5 points from any number of mules behind a code; it was 10 a minute."""
    assert farmed_milli(RULE_SET_2026_11, FRESH, is_private=True, minutes=1) == 10_000
    assert farmed_milli(RULE_SET_2026_11, FRESH, is_private=True) > 500_000
    for mules in (1, 10, FRESH):
        assert farmed_milli(RULES, mules, is_private=True) < 5_000
