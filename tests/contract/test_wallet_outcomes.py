"""How a match ends on every wallet database: settled, given up, voided, its table closed."""

import pytest

from okey.money.account import (
    HOUSE_BONUS,
    HOUSE_BOT_BANK,
    HOUSE_PENALTY,
    HOUSE_RAKE,
    HOUSE_UNCLAIMED,
)
from okey.money.forfeit import ForfeitCause
from okey.money.match import MalformedMatch
from okey.money.outcome import CanakDraw, CanakWin, HouseWin, KlasikDraw, KlasikWin, Outcome
from okey.money.settle import OutcomeDoesNotFit
from okey.rules.finish import FinishKind
from okey.rules.variant import Mode, Variant
from services.wallet import decline
from services.wallet.command import SettleMatch
from tests.contract.wallet_house import LENIENT
from tests.contract.wallet_play import WELCOME, Play, balance

# Settlement: who has how many chips after each outcome


@pytest.mark.parametrize(
    ("players", "mode", "given_up", "outcome", "purses", "kasa"),
    [
        ("ABCD", Mode.NORMAL, (), CanakWin(1, FinishKind.NORMAL), [-100, 260, -100, -100], 40),
        ("ABCD", Mode.NORMAL, (), CanakWin(1, FinishKind.OKEY), [-100, 300, -100, -100], 0),
        ("ABCD", Mode.NORMAL, (), CanakWin(1, FinishKind.CIFT), [-100, 300, -100, -100], 0),
        ("ABCD", Mode.NORMAL, (), CanakWin(1, FinishKind.CIFT_OKEY), [-100, 350, -100, -100], 0),
        ("ABCD", Mode.NORMAL, (), CanakDraw(), [-10, -10, -10, -10], 40),
        ("ABCD", Mode.NORMAL, (2,), CanakDraw(), [-10, -10, -150, -10], 130),
        ("ABCD", Mode.NORMAL, (2,), CanakWin(2, FinishKind.OKEY), [-100, -100, -150, -100], 400),
        ("ABCD", Mode.ESLI, (), CanakWin(1, FinishKind.NORMAL), [-100, 80, -100, 80], 40),
        ("ABCD", Mode.ESLI, (3,), CanakWin(3, FinishKind.OKEY), [-100, 300, -100, -150], 0),
        ("ABCD", Mode.ESLI, (1, 3), CanakWin(3, FinishKind.OKEY), [-100, -150, -100, -150], 400),
        ("A-", Mode.SOLO, (), CanakWin(0, FinishKind.OKEY), [100], 0),
        ("A-", Mode.SOLO, (), CanakWin(1, FinishKind.OKEY), [-100], 20),
        ("A-", Mode.SOLO, (0,), HouseWin(), [-150], 20),
        ("AB", Mode.NORMAL, (0, 1), HouseWin(), [-150, -150], 20),
    ],
)
async def test_canak_pays(
    play: Play,
    players: str,
    mode: Mode,
    given_up: tuple[int, ...],
    outcome: Outcome,
    purses: list[int],
    kasa: int,
) -> None:
    """Ç3, Ç4, Ç5, Ç7, Ç11, M6, M8, M9: chips won or lost by everyone, and what the kasa keeps."""
    play.mode = mode
    await play.seat_and_start(players)
    for seat in given_up:
        await play.forfeit(seat)
    settled = await play.settle(outcome)
    people = players.replace("-", "")
    assert [purse - WELCOME for purse in await play.purses(people)] == purses
    assert settled.kasa == await play.kasa() == kasa


@pytest.mark.parametrize(
    ("given_up", "outcome", "purses", "rake", "bank"),
    [
        ((), KlasikWin(2), [-100, -100, 260, -100], 40, 0),
        ((2,), KlasikWin(2), [-100, -100, -150, -100], 40, 360),
        ((), KlasikDraw((0, 1, 3)), [33, 33, -100, 33], 0, 0),
        ((0, 1, 2), KlasikDraw((0, 3)), [-150, -150, -150, 100], 0, 200),
        ((0, 1, 2, 3), HouseWin(), [-150, -150, -150, -150], 40, 360),
    ],
)
async def test_klasik_pays(
    play: Play,
    given_up: tuple[int, ...],
    outcome: Outcome,
    purses: list[int],
    rake: int,
    bank: int,
) -> None:
    """K7, K9, K10, M8, M9: rake at settlement, none in a draw; no kasa."""
    play.variant = Variant.KLASIK
    started = await play.seat_and_start("ABCD")
    assert (started.pot, started.kasa) == (400, 0)
    for seat in given_up:
        await play.forfeit(seat)
    await play.settle(outcome)
    assert [purse - WELCOME for purse in await play.purses("ABCD")] == purses
    assert await balance(play.wallet, HOUSE_RAKE) == rake
    assert await balance(play.wallet, HOUSE_BOT_BANK) == bank
    await play.close()


async def test_the_kasa_grows_over_a_nachspiel_until_it_is_won(play: Play) -> None:
    """Ç3, Ç4, Ç8: who comes anew plays for the grown kasa."""
    await play.seat_and_start("AB")
    await play.settle(CanakWin(0, FinishKind.NORMAL))
    await play.seat_and_start("AC")
    await play.settle(CanakDraw())
    started = await play.seat_and_start("CB")
    assert started.kasa == 60
    await play.settle(CanakWin(1, FinishKind.CIFT_OKEY))
    assert await play.kasa() == 0
    assert await balance(play.wallet, HOUSE_BONUS) == -50
    await play.close()


async def test_a_match_is_settled_once_whatever_the_keys(play: Play) -> None:
    """M5: the pot is empty after the first."""
    await play.seat_and_start("AB")
    asked = SettleMatch(match_id=play.match_id, outcome=CanakWin(0, FinishKind.NORMAL))
    await play.ask(asked)
    with pytest.raises(decline.MatchSettled):
        await play.ask(asked)
    with pytest.raises(decline.MatchSettled):
        await play.void()
    with pytest.raises(decline.MatchSettled):
        await play.forfeit(0)
    with pytest.raises(decline.MatchSettled):
        await play.hold(1, "C", attempt=2)
    with pytest.raises(decline.MatchSettled):
        await play.ask(play.starting(play.hold_id(0), play.hold_id(1)))
    assert await play.purses("AB") == [WELCOME + 80, WELCOME - 100]


async def test_an_outcome_that_cannot_be_leaves_the_match_running(play: Play) -> None:
    """M4: refused as malformed; the right outcome may come under the same key."""
    await play.seat_and_start("AB")
    with pytest.raises(OutcomeDoesNotFit):
        await play.ask(SettleMatch(match_id=play.match_id, outcome=KlasikWin(0)), "key")
    nobody = CanakWin(3, FinishKind.NORMAL)
    with pytest.raises(MalformedMatch):
        await play.ask(SettleMatch(match_id=play.match_id, outcome=nobody), "key")
    await play.ask(SettleMatch(match_id=play.match_id, outcome=CanakDraw()), "key")


@pytest.mark.parametrize("is_held", [False, True])
async def test_what_has_not_started_cannot_end(play: Play, is_held: bool) -> None:
    """M2: no pot, no payout, no giving up."""
    if is_held:
        await play.hold(0, "A")
    with pytest.raises(decline.MatchNotStarted):
        await play.forfeit(0)
    with pytest.raises(decline.MatchNotStarted):
        await play.ask(SettleMatch(match_id=play.match_id, outcome=CanakDraw()))


# Giving up


async def test_giving_up_costs_half_the_stake(play: Play) -> None:
    """M9: to the house, at once, once a seat."""
    await play.seat_and_start("AB")
    cost = await play.forfeit(0)
    assert (cost.penalty, cost.shortfall) == (50, 0)
    assert await balance(play.wallet, HOUSE_PENALTY) == 50
    with pytest.raises(decline.SeatNotOwned):
        await play.forfeit(0)
    assert await play.purse("A") == WELCOME - 150


@pytest.mark.parametrize(("left", "penalty"), [(0, 0), (30, 30)])
async def test_who_has_too_little_pays_what_there_is(play: Play, left: int, penalty: int) -> None:
    """M9: the shortfall is recorded, never a debt."""
    play.stake = WELCOME - left
    await play.seat_and_start("AB")
    cost = await play.forfeit(0)
    assert (cost.penalty, cost.shortfall) == (penalty, play.stake // 2 - penalty)
    assert await play.purse("A") == 0


async def test_an_abandoned_seat_is_the_houses_even_where_it_costs_nothing(play: Play) -> None:
    """U9, Ç11: what it wins goes into the kasa, which stays."""
    play.rules_version = LENIENT.version
    await play.seat_and_start("AB")
    cost = await play.forfeit(0, ForfeitCause.ABANDONED)
    assert (cost.penalty, cost.shortfall, cost.journal_id) == (0, 0, None)
    assert (await play.settle(CanakWin(0, FinishKind.OKEY))).kasa == 200
    assert await play.purses("AB") == [WELCOME - 100, WELCOME - 100]
    assert await balance(play.wallet, HOUSE_BOT_BANK) == 0


async def test_a_bots_seat_cannot_be_given_up(play: Play) -> None:
    """M9: nor one that does not exist."""
    play.mode = Mode.SOLO
    await play.seat_and_start("A-")
    with pytest.raises(decline.SeatNotOwned):
        await play.forfeit(1)
    with pytest.raises(MalformedMatch):
        await play.forfeit(2)


# Voiding


async def test_a_voided_match_gives_every_stake_back(play: Play) -> None:
    """M10: this match's kasa share out, the older kasa stays, penalties stand."""
    await play.seat_and_start("AB")
    await play.settle(CanakDraw())
    await play.seat_and_start("AB")
    await play.forfeit(1)
    voided = await play.void()
    assert voided.kasa == await play.kasa() == 20
    assert await play.purses("AB") == [WELCOME - 10, WELCOME - 10 - 50]
    with pytest.raises(decline.MatchVoided):
        await play.void()
    with pytest.raises(decline.MatchVoided):
        await play.settle(CanakDraw())


async def test_voiding_before_the_start_gives_back_all_holds(play: Play) -> None:
    """M10, M1: and the match cannot start any more."""
    await play.hold(0, "A")
    await play.hold(1, "B")
    await play.void_hold(1)
    await play.hold(1, "C", attempt=2)
    await play.void()
    assert await play.purses("ABC") == [WELCOME] * 3
    assert (await play.void_hold(0)).journal_id is None
    with pytest.raises(decline.MatchVoided):
        await play.hold(0, "A", attempt=2)


async def test_voiding_a_match_whose_holds_all_went_back_books_nothing(play: Play) -> None:
    """M10: nothing is held, nothing is given."""
    await play.hold(0, "A")
    await play.void_hold(0)
    assert (await play.void()).journal_id is None


async def test_voiding_a_match_that_was_never_seen_is_declined(play: Play) -> None:
    """M10: there is nothing to take back."""
    with pytest.raises(decline.MatchNotStarted):
        await play.void()


# Closing


async def test_what_is_left_in_the_kasa_goes_back_to_who_played_last(play: Play) -> None:
    """Ç10: of eleven matches the eleventh counts, by its number."""
    play.stake = 55
    for players in ["AB"] * 9 + ["CD"]:
        await play.seat_and_start(players)
        await play.settle(CanakWin(0, FinishKind.NORMAL))
    assert await play.kasa() == 10 * 11
    play.stake = 50
    await play.seat_and_start("AC")
    await play.settle(CanakWin(1, FinishKind.NORMAL))
    before = await play.purses("ABCD")
    await play.close()
    assert await play.kasa() == 0
    assert [
        after - purse for after, purse in zip(await play.purses("ABCD"), before, strict=True)
    ] == [60, 0, 60, 0]
    assert await balance(play.wallet, HOUSE_UNCLAIMED) == 0


async def test_a_given_up_seats_pot_goes_to_who_stayed_when_the_table_closes(play: Play) -> None:
    """Ç11, Ç10: three stayed for a kasa of 400, one chip of it odd; a void is no end."""
    await play.seat_and_start("ABCD")
    await play.forfeit(3)
    assert (await play.settle(CanakWin(3, FinishKind.OKEY))).kasa == 400
    await play.seat_and_start("AD")
    await play.void()
    before = await play.purses("ABCD")
    await play.close()
    after = await play.purses("ABCD")
    assert [new - old for new, old in zip(after, before, strict=True)] == [133, 133, 133, 0]
    assert await balance(play.wallet, HOUSE_UNCLAIMED) == 1


@pytest.mark.parametrize("version", ["2026.11", "house-keeps-it"])
async def test_a_house_may_keep_what_is_left_in_the_kasa(play: Play, version: str) -> None:
    """Ç10: as every one did before 2026.12; and a closed table takes no stakes."""
    play.rules_version = version
    await play.seat_and_start("AB")
    await play.settle(CanakWin(0, FinishKind.NORMAL))
    await play.close()
    assert await play.kasa() == 0
    assert await balance(play.wallet, HOUSE_UNCLAIMED) == 20
    with pytest.raises(decline.TableClosed):
        await play.hold(0, "A")
    with pytest.raises(decline.TableClosed):
        await play.ask(play.starting(play.hold_id(0), play.hold_id(1)))
    with pytest.raises(decline.TableClosed):
        await play.close()


async def test_a_table_without_a_kasa_closes_without_a_journal(play: Play) -> None:
    """Ç10: a table that nobody ever paid at, too."""
    assert (await play.close()).journal_id is None


async def test_a_table_with_stakes_or_a_match_does_not_close(play: Play) -> None:
    """Ç10: chips come back first."""
    await play.hold(0, "A")
    with pytest.raises(decline.TableNotIdle):
        await play.close()
    await play.void_hold(0)
    play.match_no = 2
    await play.seat_and_start("AB")
    with pytest.raises(decline.TableNotIdle):
        await play.close()
