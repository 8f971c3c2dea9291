"""R1..R5 with worked numbers, and the sums that hold for every match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okey.rating import (
    CanakWon,
    ChangeKind,
    Departure,
    Drawn,
    HouseWon,
    KlasikWon,
    MatchRating,
    Outcome,
    RatedMatch,
    Sink,
    Voided,
    rate_forfeit,
    rate_match,
)
from okey.rules.rule_set import DEFAULT_RULE_SET, RuleSet
from okey.rules.variant import Mode
from tests.unit.rating.matches import canak, ended_matches, esli, excused, klasik, player

NOBODY_QUITS = st.just(Departure.NONE)


def deltas(match: RatedMatch, outcome: Outcome) -> dict[int, int]:
    """Every change by seat, in milli-points."""
    return {change.seat: change.delta_milli for change in rated(match, outcome).changes}


def rated(match: RatedMatch, outcome: Outcome) -> MatchRating:
    return rate_match(match, outcome, DEFAULT_RULE_SET)


class TestTwoSeats:
    def test_new_equals_play_for_half_of_k_twenty(self) -> None:
        """R1, R2: 20 × (1 − ½) = 10 points."""
        assert deltas(canak(player(), player()), CanakWon(0)) == {0: 10_000, 1: -10_000}

    def test_from_the_twenty_first_match_on_k_is_sixteen(self) -> None:
        """R1: nineteen rated matches played is K 20, twenty is K 16."""
        almost = player(matches=19)
        settled = player(matches=20)
        assert deltas(canak(almost, almost), CanakWon(1)) == {1: 10_000, 0: -10_000}
        assert deltas(canak(settled, settled), CanakWon(1)) == {1: 8_000, 0: -8_000}

    def test_a_pair_uses_the_mean_of_its_ks(self) -> None:
        """R1: new against settled is K 18, for both."""
        match = canak(player(), player(matches=20))
        assert deltas(match, CanakWon(0)) == {0: 9_000, 1: -9_000}

    def test_an_upset_moves_more_than_the_expected_win(self) -> None:
        """R1: 200 points apart, expected 0.759747: K 16 gives 3.844 or 12.155."""
        match = canak(player(1400, matches=50), player(1200, matches=50))
        assert deltas(match, CanakWon(0)) == {0: 3_844, 1: -3_844}
        assert deltas(match, CanakWon(1)) == {0: -12_155, 1: 12_155}

    def test_there_is_no_floor(self) -> None:
        """R1: who stands at 100 still loses."""
        assert deltas(canak(player(100), player(100)), CanakWon(0))[1] == -10_000


class TestCanakOfFour:
    def test_the_winner_plays_each_other_player_for_a_third_of_k(self) -> None:
        """R2: losers do not play each other."""
        match = canak(player(), player(), player(), player())
        assert deltas(match, CanakWon(2)) == {2: 9_999, 0: -3_333, 1: -3_333, 3: -3_333}

    def test_each_loser_pays_by_its_own_difference(self) -> None:
        """R2: 1200 beats 1600, 1200 and 800 at K 16."""
        match = canak(*(player(points, matches=20) for points in (1200, 1600, 1200, 800)))
        assert deltas(match, CanakWon(0)) == {0: 7_998, 1: -4_848, 2: -2_666, 3: -484}

    def test_one_who_gave_up_is_in_no_pairing_and_k_stays_a_third(self) -> None:
        """R5, R2: with four the others are rated among themselves; n counts people at the start."""
        match = canak(player(), player(gave_up=True), player(), player())
        assert deltas(match, CanakWon(2)) == {2: 6_666, 0: -3_333, 3: -3_333}

    def test_one_person_left_of_four_is_unrated(self) -> None:
        """R4: fewer than two people left, and no compensation with four seats."""
        gone = player(gave_up=True)
        assert rated(canak(player(), gone, gone, gone), CanakWon(0)) == MatchRating()


class TestKlasik:
    def test_all_pairs_by_remaining_points_ties_count_half(self) -> None:
        """R2: 20 beats all, the two with 7 draw with each other, 0 loses to all."""
        match = klasik(player(), player(), player(), player())
        outcome = KlasikWon(1, (7, 20, 7, 0))
        assert deltas(match, outcome) == {0: 0, 1: 9_999, 2: 0, 3: -9_999}

    def test_the_tie_break_decides_among_the_tied(self) -> None:
        """R2, K6: of three with 12 the tie-break's winner beats both, who draw with each other."""
        match = klasik(player(), player(), player(), player())
        outcome = KlasikWon(2, (12, 12, 12, -1))
        assert deltas(match, outcome) == {2: 9_999, 0: 0, 1: 0, 3: -9_999}

    def test_a_tie_counts_half_between_unequals_too(self) -> None:
        """R2: 1200 draws with 1400 (+1.385), loses to 1300 (-1.919), beats 1300 (+3.413)."""
        seats = [player(points, matches=20) for points in (1200, 1400, 1300, 1300)]
        expected = {0: 2_879, 1: -2_879, 2: 7_998, 3: -7_998}
        assert deltas(klasik(*seats), KlasikWon(2, (5, 5, 9, 0))) == expected

    def test_house_seats_points_are_ignored(self) -> None:
        """R5, K9: a given-up seat with the most points is in no pairing."""
        match = klasik(player(), player(gave_up=True), player(), player())
        assert deltas(match, KlasikWon(0, (5, 18, 5, 2))) == {0: 6_666, 2: 0, 3: -6_666}


class TestEsli:
    def test_partners_get_the_same_change_whoever_finished(self) -> None:
        """R3: team mean 1300 against 1200 at K 16: 16 × (1 − 0.640065) = 5.758."""
        seats = [player(points, matches=20) for points in (1400, 1300, 1200, 1100)]
        expected = {0: 5_758, 1: -5_758, 2: 5_758, 3: -5_758}
        assert deltas(esli(*seats), CanakWon(0)) == expected
        assert deltas(esli(*seats), CanakWon(2)) == expected
        assert deltas(esli(*seats), CanakWon(3))[1] == 10_241

    def test_k_is_the_mean_of_all_four(self) -> None:
        """R1: one new player among settled ones is K 17 for everybody."""
        seats = [player(matches=20)] * 3
        assert deltas(esli(player(), *seats), CanakWon(1)) == {
            0: -8_500,
            1: 8_500,
            2: -8_500,
            3: 8_500,
        }

    @pytest.mark.parametrize("leavers", [{1}, {2}, {1, 3}, {1, 2}], ids=str)
    def test_who_stays_is_rated_as_if_nobody_had_left(self, leavers: set[int]) -> None:
        """R5: by the means and the K of all four; the sink takes or gives the quitters' shares."""
        points = (1400, 1300, 1200, 1100)
        everybody = deltas(esli(*(player(each, matches=20) for each in points)), CanakWon(0))
        seats = (
            player(each, matches=20, gave_up=seat in leavers) for seat, each in enumerate(points)
        )
        rating = rated(esli(*seats), CanakWon(0))
        changes = {change.seat: change.delta_milli for change in rating.changes}
        assert changes == {seat: each for seat, each in everybody.items() if seat not in leavers}
        assert {change.kind for change in rating.changes} == {ChangeKind.MATCH}
        assert (rating.sink, rating.sink_milli) == (Sink.FORFEITS, -sum(changes.values()))

    def test_the_k_of_who_left_counts_too(self) -> None:
        """R5, R1: one new player among settled ones is K 17, also if it has given up."""
        settled = [player(matches=20)] * 3
        match = esli(player(gave_up=True), *settled)
        assert deltas(match, CanakWon(1)) == {1: 8_500, 2: -8_500, 3: 8_500}

    def test_a_finish_of_a_seat_given_up_wins_for_the_partner_who_stayed(self) -> None:
        """M6, R5: as it does for chips."""
        match = esli(player(gave_up=True), player(), player(), player())
        assert deltas(match, CanakWon(0)) == {1: -10_000, 2: 10_000, 3: -10_000}

    def test_a_side_that_nobody_is_left_of_wins_for_the_house(self) -> None:
        """R4: a house seat's win changes nobody; its loss is the others' win."""
        gone = player(gave_up=True)
        match = esli(gone, player(), gone, player())
        assert rated(match, CanakWon(2)) == MatchRating()
        assert deltas(match, CanakWon(1)) == {1: 10_000, 3: 10_000}

    def test_one_person_left_is_unrated(self) -> None:
        """R4: fewer than two people left; a draw is unrated too."""
        gone = player(gave_up=True)
        assert rated(esli(gone, gone, player(), gone), CanakWon(2)) == MatchRating()
        assert rated(esli(gone, player(), player(), player()), Drawn()) == MatchRating()

    def test_who_left_without_a_price_is_rated_with_its_partner(self) -> None:
        """R3, U9: or staying away would spare the loss."""
        match = esli(excused(), player(), player(), player())
        assert deltas(match, CanakWon(1)) == {0: -10_000, 1: 10_000, 2: -10_000, 3: 10_000}
        assert rated(match, CanakWon(1)).sink_milli == 0


class TestUnrated:
    def test_draws_change_nobody(self) -> None:
        """R4: Çanak and Klasik draws alike."""
        assert rated(canak(player(), player(1500)), Drawn()) == MatchRating()
        assert rated(klasik(player(), player(1500)), Drawn()) == MatchRating()

    def test_a_voided_match_changes_nobody(self) -> None:
        """R4, M10: who stayed while the other gave up is not compensated either."""
        for match in (
            canak(player(), player(1500)),
            canak(player(), player(gave_up=True)),
            klasik(player(gave_up=True), player()),
            canak(player(), player(gave_up=True), player(), player()),
        ):
            assert rated(match, Voided()) == MatchRating()

    def test_a_house_seats_win_changes_nobody(self) -> None:
        """R4: as the outcome, or as a winning seat that its player gave up."""
        match = canak(player(), player(gave_up=True), player(), player())
        assert rated(match, HouseWon()) == MatchRating()
        assert rated(match, CanakWon(1)) == MatchRating()
        of_klasik = klasik(player(), player(gave_up=True), player(), player())
        assert rated(of_klasik, KlasikWon(1, (3, 9, 9, 2))) == MatchRating()

    def test_solo_changes_nobody(self) -> None:
        """R4: win or lose."""
        match = canak(player(), None, mode=Mode.SOLO)
        assert rated(match, CanakWon(0)) == rated(match, CanakWon(1)) == MatchRating()

    def test_a_match_filled_with_house_seats_changes_nobody(self) -> None:
        """W5, R4: though two people played."""
        assert rated(canak(player(), player(), None, None), CanakWon(0)) == MatchRating()
        assert rated(canak(player(), None, mode=Mode.NORMAL), HouseWon()) == MatchRating()


class TestForfeit:
    @pytest.mark.parametrize("seat", [0, 3])
    def test_giving_up_costs_exactly_twenty_points(self, seat: int) -> None:
        """R5: whatever the rating, and the sink takes them."""
        rating = rate_forfeit(seat, DEFAULT_RULE_SET)
        ((change,), booked) = (rating.changes, rating.sink_milli)
        assert (change.seat, change.kind, change.delta_milli) == (seat, ChangeKind.FORFEIT, -20_000)
        assert (booked, rating.sink) == (20_000, Sink.FORFEITS)

    @pytest.mark.parametrize(
        "outcome", [CanakWon(0), CanakWon(1), HouseWon(), Drawn()], ids=lambda o: type(o).__name__
    )
    def test_the_opponent_of_two_gets_what_the_win_would_have_brought(
        self, outcome: Outcome
    ) -> None:
        """R5: however the match then ends; the sink pays."""
        won = deltas(canak(player(1200), player(1300)), CanakWon(0))[0]
        rating = rated(canak(player(1200), player(1300, gave_up=True)), outcome)
        (change,) = rating.changes
        assert (change.seat, change.kind) == (0, ChangeKind.COMPENSATION)
        assert change.delta_milli == won == 12_801
        assert rating.sink_milli == -won

    def test_klasik_of_two_compensates_too(self) -> None:
        """R5, K9: also if the house seat won with more points."""
        match = klasik(player(gave_up=True), player())
        assert deltas(match, KlasikWon(0, (9, 2))) == {1: 10_000}
        assert deltas(match, Drawn()) == {1: 10_000}

    def test_nobody_is_compensated_if_both_gave_up(self) -> None:
        """R5: unless it gave up too."""
        gone = player(gave_up=True)
        assert rated(canak(gone, gone), HouseWon()) == MatchRating()

    def test_who_left_without_a_price_is_in_no_pairing_and_compensates_nobody(self) -> None:
        """R4, U9: a house whose abandonments are no forfeits takes and gives nothing for them."""
        assert rated(canak(player(), excused()), CanakWon(0)) == MatchRating()
        match = canak(player(), excused(), player(), player())
        assert deltas(match, CanakWon(2)) == {2: 6_666, 0: -3_333, 3: -3_333}

    def test_compensation_is_at_most_a_forfeit(self) -> None:
        """R5: at most 20, whatever K a house chooses."""
        generous = RuleSet(rating_k_new=60)
        rating = rate_match(canak(player(0), player(1900, gave_up=True)), Drawn(), generous)
        assert rating.changes[0].delta_milli == 20_000

    def test_a_forfeit_at_a_table_with_house_seats_compensates_nobody(self) -> None:
        """R5, R4: solo's bots have no rating."""
        match = canak(player(gave_up=True), None, mode=Mode.SOLO)
        assert rated(match, HouseWon()) == MatchRating()


class TestSums:
    @given(ended_matches(NOBODY_QUITS))
    def test_every_match_without_a_forfeit_sums_to_zero(
        self, ended: tuple[RatedMatch, Outcome]
    ) -> None:
        """R1: exactly, in milli-points, without the sink."""
        assert sum(deltas(*ended).values()) == 0
        assert rated(*ended).sink_milli == 0

    @given(ended_matches())
    def test_changes_and_sink_always_sum_to_zero(self, ended: tuple[RatedMatch, Outcome]) -> None:
        """R5: what does not sum to zero stands in the sink."""
        rating = rated(*ended)
        assert sum(change.delta_milli for change in rating.changes) + rating.sink_milli == 0

    @given(ended_matches())
    def test_no_loss_costs_more_than_giving_up(self, ended: tuple[RatedMatch, Outcome]) -> None:
        """R1: at any ratings, with two or four."""
        assert all(delta >= -20_000 for delta in deltas(*ended).values())

    def test_three_losses_of_a_favourite_stay_within_a_forfeit(self) -> None:
        """R1: rounding up a third of K three times would cost 20.001."""
        match = klasik(player(4000), player(), player(), player())
        assert deltas(match, KlasikWon(1, (0, 9, 8, 7)))[0] == -19_998

    @given(ended_matches(st.sampled_from([Departure.NONE, Departure.FORFEITED])))
    def test_quitters_have_no_second_change(self, ended: tuple[RatedMatch, Outcome]) -> None:
        """R5: only people who are left have changes at the end, once each."""
        match, _ = ended
        seats = [change.seat for change in rated(*ended).changes]
        assert len(seats) == len(set(seats))
        assert set(seats) <= set(match.people_left())

    @given(ended_matches())
    def test_no_match_makes_points(self, ended: tuple[RatedMatch, Outcome]) -> None:
        """R5: with the price of its forfeits every match takes points or leaves them alone."""
        match, _ = ended
        departures = [owner.departure for owner in match.seats if owner]
        price = departures.count(Departure.FORFEITED) * DEFAULT_RULE_SET.forfeit_milli_points
        assert sum(deltas(*ended).values()) <= price

    @given(ended_matches())
    def test_team_mates_get_the_same(self, ended: tuple[RatedMatch, Outcome]) -> None:
        """R3: always, and the other team the opposite."""
        match, _ = ended
        if match.mode is Mode.ESLI:
            changes = deltas(*ended)
            assert len({each if seat in (0, 2) else -each for seat, each in changes.items()}) <= 1
