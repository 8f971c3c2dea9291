"""From the count-down to the first tile."""

from dataclasses import replace

import pytest

from okey.rules.deal import DealContext, deal, shuffle
from okey.rules.tile import FULL_SET
from okey.table import commands as c
from okey.table import events as e
from okey.table.reasons import CloseReason, VacateReason, VoidReason
from okey.table.state import Phase, SeatStatus
from tests.factories import (
    PLAYERS,
    START_MS,
    TABLE_ID,
    Driver,
    canak,
    dealt,
    kinds,
    klasik,
    nachspiel,
    of_kind,
    opened,
    paid,
    paused,
    seed,
    settling,
    solo,
    starting,
    the,
    tie_break,
)


def test_the_count_down_is_three_seconds_and_then_the_wallet_is_asked() -> None:
    """U13, W2: 3 s from the last stake held to the start's request; nothing is dealt before."""
    table = paid()
    assert table.timer(c.TimerKind.COUNTDOWN).deadline_ms == START_MS + 3_000
    holds = tuple(seat.hold_id for seat in table.state.seats)
    (asked,) = table.expire(c.TimerKind.COUNTDOWN)
    assert asked == e.MatchStartRequested(f"{TABLE_ID}-1", 1, holds)
    assert table.is_in(Phase.STARTING)
    assert table.state.round is None


def test_a_committed_start_deals_and_the_kasa_takes_its_tenth() -> None:
    """W2, Ç2, T7: with the start the tenth is in the kasa, and the starter is to move."""
    table = starting(canak(4, stake=55))
    events = table.do(c.ConfirmStart(table.state.match_id))
    assert kinds(events) == ["MatchStarted", "RoundDealt", "TurnStarted"]
    assert the(events, e.MatchStarted) == e.MatchStarted(f"{TABLE_ID}-1", 1, PLAYERS, 198, 22)
    assert table.state.kasa == 22
    assert table.is_in(Phase.PLAYING)


def test_klasik_has_no_kasa_and_equal_points() -> None:
    """K1, K7: everybody starts with the table's points; the whole stakes are the pot."""
    table = starting(klasik(4, points=15))
    started = the(table.do(c.ConfirmStart(table.state.match_id)), e.MatchStarted)
    assert (started.pot, started.kasa) == (200, 0)
    assert table.points == (15, 15, 15, 15)


@pytest.mark.parametrize("seats", [2, 4])
def test_the_starter_gets_fifteen_tiles_the_others_fourteen(seats: int) -> None:
    """T7: 15 for the starter, 14 for the others, 76 or 48 tiles in the stock, 106 in all."""
    table = starting(canak(seats))
    round_ = the(table.do(c.ConfirmStart(table.state.match_id)), e.RoundDealt)
    sizes = [15 if seat == round_.starter else 14 for seat in range(seats)]
    assert [len(tiles) for tiles in round_.racks] == sizes
    assert len(round_.stock) == {2: 76, 4: 48}[seats]
    everything = [*round_.stock, round_.gosterge, *(t for tiles in round_.racks for t in tiles)]
    assert sorted(everything) == sorted(FULL_SET)


def test_a_tie_break_of_three_leaves_62_tiles() -> None:
    """T7, K6: three seats play, the fourth has no tiles."""
    table = tie_break(0, 1, 3)
    assert [len(hand.rack) for hand in table.round.hands].count(0) == 1
    assert len(table.round.stock) == 62
    assert table.hand(2).rack == ()


def test_the_deal_is_the_documented_function_of_seed_and_nonces() -> None:
    """T9: the dealt round follows from the sealed seed, the ids and the nonces by seat."""
    table = seated_with_nonce()
    assert table.state.sealed is not None
    server_seed = table.state.sealed.seed
    round_ = the(table.start(), e.RoundDealt)
    context = DealContext(TABLE_ID, 1, 1, (b"\x07" * 32, b""))
    deck = shuffle(server_seed, context)
    expected = deal(deck, (0, 1), round_.starter)
    assert (round_.gosterge, round_.racks, round_.stock) == (
        expected.gosterge,
        expected.racks,
        expected.stock,
    )
    assert round_.dealer == deck.first_dealer
    assert round_.nonces == context.nonces


def seated_with_nonce() -> Driver:
    table = paid()
    table.do(c.AddNonce(PLAYERS[0], b"\x07" * 32))
    return table


def test_a_nonce_counts_for_one_deal_only() -> None:
    """T9: after the deal no seat has a nonce; the next round takes new ones."""
    table = seated_with_nonce()
    table.start()
    assert [seat.nonce for seat in table.state.seats] == [b"", b""]


def test_the_first_dealer_is_the_seeds_and_the_starter_sits_after_it() -> None:
    """T8: the starter is the playing seat after the dealer."""
    starters = set()
    for first_seed in range(1, 12):
        table = Driver(canak(4), first_seed)
        table.do(c.OpenTable(table.config, PLAYERS[0]))
        for player in PLAYERS[1:]:
            table.do(c.TakeSeat(player))
        table.pay()
        round_ = the(table.start(), e.RoundDealt)
        assert round_.starter == (round_.dealer + 1) % 4
        starters.add(round_.starter)
    assert len(starters) > 1


def test_the_dealer_moves_on_over_drawn_rounds() -> None:
    """T8, K8: the next playing seat deals after a drawn round too."""
    table = paused(klasik(4))
    dealers = [table.state.last_dealer]
    for _ in range(4):
        round_ = the(table.next_round(), e.RoundDealt)
        dealers.append(round_.dealer)
        assert round_.starter == (round_.dealer + 1) % 4
        table.draw_round()
    assert dealers == [3, 0, 1, 2, 3]


def test_the_dealer_moves_on_over_the_nachspiel() -> None:
    """T8, Ç8: the Nachspiel's match is dealt by the next seat."""
    table = nachspiel()
    dealer = table.state.last_dealer
    table.play_on(0, 1)
    assert the(table.start(), e.RoundDealt).dealer == 1 - dealer


@pytest.mark.parametrize(
    ("last_dealer", "dealer", "starter"), [(0, 1, 3), (1, 3, 1), (2, 3, 1), (3, 1, 3)]
)
def test_seats_out_of_a_tie_break_are_skipped(last_dealer: int, dealer: int, starter: int) -> None:
    """K6, T8: dealer, starter and neighbours of a tie-break of seats 1 and 3 are these two."""
    table = tie_break(1, 3)
    table.draw_round()
    table.state = replace(table.state, last_dealer=last_dealer)
    round_ = the(table.next_round(), e.RoundDealt)
    assert (round_.dealer, round_.starter) == (dealer, starter)
    assert table.round.next_seat(1) == 3
    assert table.round.next_seat(3) == 1
    assert table.round.previous_seat(1) == 3
    assert table.round.previous_seat(3) == 1


def test_the_next_commitment_is_published_when_the_round_ends() -> None:
    """T9: RoundEnded publishes the old seed and seals the next one; one seed, one deal."""
    table = dealt(klasik())
    assert table.state.sealed is None
    used = table.round.seed
    ended = the(table.draw_round(), e.RoundEnded)
    assert ended.revealed == used
    assert ended.sealed.seed != used
    table.next_round()
    assert (table.round.seed, table.round.commitment) == (
        ended.sealed.seed,
        ended.sealed.commitment,
    )


def test_the_first_commitment_is_published_when_the_table_opens() -> None:
    """T9: the first round's seed is the one sealed at the opening, before any stake is paid."""
    table = opened()
    sealed = the(table.events, e.TableOpened).sealed
    assert sealed == c.seal(seed(2))
    table.do(c.TakeSeat(PLAYERS[1]))
    table.pay()
    table.start()
    assert table.round.seed == sealed.seed


def test_a_match_of_the_nachspiel_deals_what_was_sealed_at_the_round_before() -> None:
    """T9, Ç8: no new seed is chosen after the stakes are paid."""
    table = nachspiel()
    sealed = the(table.events, e.RoundEnded).sealed
    table.play_on(0, 1)
    table.start()
    assert table.round.seed == sealed.seed


# The wallet declines


def test_a_declined_start_frees_only_the_void_seat() -> None:
    """M2: who cannot pay holds up nobody else's chips: the others stay paid."""
    table = starting(canak(4))
    void = table.seat(2).hold_id
    events = table.do(c.DeclineStart(table.state.match_id, (void,)))
    assert kinds(events) == ["MatchStartDeclined", "SeatVacated"]
    vacated = the(events, e.SeatVacated)
    assert (vacated.seat, vacated.reason) == (2, VacateReason.START_DECLINED)
    assert table.is_in(Phase.WAITING)
    paid_seats = [seat.status is SeatStatus.PAID for seat in table.state.seats]
    assert paid_seats == [True, True, False, True]
    table.do(c.TakeSeat("eda"))
    table.pay(2)
    table.start()
    assert table.is_in(Phase.PLAYING)


@pytest.mark.parametrize("void", [(), ("another-hold",)])
def test_a_decline_that_names_no_seat_gives_every_stake_back(void: tuple[str, ...]) -> None:
    """M2, W1: nobody is left waiting, paid, at a table whose start nobody asks for again."""
    table = starting()
    events = table.do(c.DeclineStart(table.state.match_id, void))
    assert [each.seat for each in of_kind(events, e.SeatVacated)] == [0, 1]
    assert all(each.hold_id for each in of_kind(events, e.SeatVacated))
    assert the(events, e.TableClosed).reason is CloseReason.NO_PEOPLE


def test_bots_stay_when_a_start_is_declined() -> None:
    """O1, M2: the person's seat is freed and with it the last person leaves."""
    table = starting(solo(4))
    events = table.do(c.DeclineStart(table.state.match_id, (table.seat(0).hold_id,)))
    assert kinds(events) == ["MatchStartDeclined", "SeatVacated", "TableClosed"]


# Somebody leaves while the start is with the wallet


def test_leaving_while_the_start_is_with_the_wallet_waits_for_its_answer() -> None:
    """W2: the leave takes effect at the answer; asked twice it is still one."""
    table = starting()
    assert table.do(c.LeaveSeat(PLAYERS[1])) == (e.LeaveRequested(1),)
    table.ignored(c.LeaveSeat(PLAYERS[1]))
    assert table.player(1) == PLAYERS[1]


def test_a_leave_during_a_declined_start_is_a_free_leave() -> None:
    """W2, M1: declined: as before the start, the hold is given back."""
    table = starting(canak(4))
    table.do(c.LeaveSeat(PLAYERS[1]))
    hold = table.seat(1).hold_id
    events = table.do(c.DeclineStart(table.state.match_id, (table.seat(2).hold_id,)))
    left, void = of_kind(events, e.SeatVacated)
    assert (left.seat, left.hold_id, left.reason) == (1, hold, VacateReason.LEFT_LATE)
    assert (void.seat, void.reason) == (2, VacateReason.START_DECLINED)
    assert table.is_in(Phase.WAITING)


def test_a_leave_during_a_committed_start_voids_the_match_before_the_deal() -> None:
    """W2, M10, T9: no penalty, the seed is published and never dealt, the others held anew."""
    table = starting(canak(4))
    table.do(c.AddNonce(PLAYERS[0], b"\x01" * 32))
    table.do(c.LeaveSeat(PLAYERS[1]))
    assert table.state.sealed is not None
    sealed, holds = table.state.sealed, [seat.hold_id for seat in table.state.seats]
    events = table.do(c.ConfirmStart(table.state.match_id))
    assert kinds(events) == [
        "MatchVoided",
        *["SeatRequested", "SeatVacated"],
        *["SeatRequested"] * 2,
    ]
    voided = the(events, e.MatchVoided)
    assert (voided.match_id, voided.reason) == (f"{TABLE_ID}-1", VoidReason.LEFT_BEFORE_DEAL)
    assert (voided.revealed, voided.kasa) == (sealed.seed, 0)
    assert voided.sealed.seed != sealed.seed
    asked = of_kind(events, e.SeatRequested)
    assert [each.seat for each in asked] == [0, 2, 3]
    assert not {each.hold_id for each in asked} & set(holds)
    assert the(events, e.SeatVacated).hold_id == "", "its hold is spent, the void refunds it"
    assert [seat.nonce for seat in table.state.seats] == [b"", b"", b"", b""]
    assert table.is_in(Phase.WAITING)
    assert table.state.seat_of(PLAYERS[1]) == -1
    assert not of_kind(events, e.SeatForfeited)


def test_the_match_after_a_voided_start_has_another_number() -> None:
    """W2, M5: a match id is never used twice, nor a hold id."""
    table = starting()
    table.do(c.LeaveSeat(PLAYERS[1]))
    table.do(c.ConfirmStart(table.state.match_id))
    table.do(c.TakeSeat("eda"))
    table.pay()
    asked = the(table.expire(c.TimerKind.COUNTDOWN), e.MatchStartRequested)
    assert (asked.match_id, asked.match_no) == (f"{TABLE_ID}-2", 2)
    assert asked.hold_ids[0].startswith(f"{TABLE_ID}-2-0-")
    holds = [each.hold_id for each in of_kind(table.events, e.SeatRequested)]
    assert len(holds) == len(set(holds))


def test_the_last_person_leaving_a_committed_start_closes_the_table() -> None:
    """W2, O1: only bots would be left."""
    table = starting(solo(4))
    table.do(c.LeaveSeat(PLAYERS[0]))
    events = table.do(c.ConfirmStart(table.state.match_id))
    assert kinds(events) == ["MatchVoided", "SeatVacated", "TableClosed"]


def test_an_older_kasa_survives_a_voided_start() -> None:
    """W2, M10: the kasa of earlier matches stays what it was."""
    table = nachspiel()
    kasa = table.state.kasa
    assert kasa > 0
    table.play_on(0, 1)
    table.request_start()
    table.do(c.LeaveSeat(PLAYERS[0]))
    voided = the(table.do(c.ConfirmStart(table.state.match_id)), e.MatchVoided)
    assert voided.kasa == table.state.kasa == kasa


# Late and foreign answers


def test_answers_for_another_match_or_phase_change_nothing() -> None:
    """W2, M5: the wallet's answers are told once for the match and moment that waits for them."""
    table = starting()
    match_id = table.state.match_id
    for answer in (c.ConfirmStart(f"{TABLE_ID}-9"), c.DeclineStart(f"{TABLE_ID}-9", ())):
        table.ignored(answer)
    table.do(c.ConfirmStart(match_id))
    for late in (c.ConfirmStart(match_id), c.DeclineStart(match_id, ())):
        table.ignored(late)
    table = settling()
    table.ignored(c.ConfirmStart(table.match.match_id))
    table.ignored(c.DeclineStart(table.match.match_id, ()))
