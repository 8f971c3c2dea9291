"""From the count-down to the first tile: the wallet's start, the deal, the first turn (W2, M2,
T7..T9).
"""

from okey.money.match import kasa_share_of, pot_of
from okey.rules import deal as dealing
from okey.table import events as e
from okey.table.draft import Draft
from okey.table.reasons import VacateReason, VoidReason
from okey.table.seating import close_if_empty, request_seat, vacate
from okey.table.state import Phase


def request_start(draft: Draft) -> None:
    """The count-down is over: the wallet is asked to start the match."""
    state = draft.state
    hold_ids = tuple(seat.hold_id for seat in state.seats)
    draft.emit(e.MatchStartRequested(state.match_id, state.match_no + 1, hold_ids))


def confirm_start(draft: Draft, match_id: str) -> None:
    """The stakes are committed: deal, unless somebody left meanwhile (W2)."""
    state = draft.state
    if state.phase is not Phase.STARTING or match_id != state.match_id:
        return
    if any(seat.is_leaving for seat in state.seats):
        _void_before_deal(draft)
        return
    config = state.config
    share = kasa_share_of(config.variant, config.stake, config.seat_count, config.rules)
    pot = pot_of(config.variant, config.stake, config.seat_count, config.rules)
    players = tuple(seat.player for seat in state.seats)
    draft.emit(e.MatchStarted(match_id, state.match_no + 1, players, pot, state.kasa + share))
    deal_round(draft)


def _void_before_deal(draft: Draft) -> None:
    """W2: the committed start is voided without penalty; who stays is asked for the stake anew."""
    before = draft.state
    assert before.sealed is not None, "a table that waits has a sealed seed"
    draft.emit(
        e.MatchVoided(
            match_id=before.match_id,
            reason=VoidReason.LEFT_BEFORE_DEAL,
            operator="",
            note="",
            revealed=before.sealed.seed,
            sealed=draft.context.fresh(),
            kasa=before.kasa,
        )
    )
    for index, seat in enumerate(before.seats):
        if seat.is_leaving:
            vacate(draft, index, VacateReason.LEFT_LATE)
        elif seat.is_person:
            request_seat(draft, index, seat.player)
    close_if_empty(draft)


def decline_start(draft: Draft, match_id: str, void_hold_ids: tuple[str, ...]) -> None:
    """The wallet did not start: seats whose hold is void are freed, the others stay paid (M2).

    A decline that names no hold of this table cannot be mended by waiting: then every seat is freed
    with its refund.
    """
    state = draft.state
    if state.phase is not Phase.STARTING or match_id != state.match_id:
        return
    draft.emit(e.MatchStartDeclined(match_id))
    people = [(index, seat) for index, seat in enumerate(state.seats) if seat.is_person]
    is_named = any(seat.hold_id in void_hold_ids for _, seat in people)
    for index, seat in people:
        if not is_named or seat.hold_id in void_hold_ids:
            vacate(draft, index, VacateReason.START_DECLINED)
        elif seat.is_leaving:
            vacate(draft, index, VacateReason.LEFT_LATE)
    close_if_empty(draft)


def deal_round(draft: Draft) -> None:
    """T2..T9: shuffle under the sealed seed and the players' nonces, deal, start the first turn."""
    state, match = draft.state, draft.match
    assert state.sealed is not None, "a deal without a sealed seed"
    round_no = match.round_no + 1
    nonces = tuple(seat.nonce for seat in state.seats)
    context = dealing.DealContext(state.config.table_id, state.match_no, round_no, nonces)
    deck = dealing.shuffle(state.sealed.seed, context)
    playing = match.contenders or tuple(range(state.config.seat_count))
    dealer = deck.first_dealer if state.last_dealer < 0 else _seat_after(state.last_dealer, playing)
    starter = _seat_after(dealer, playing)
    dealt = dealing.deal(deck, playing, starter)
    draft.emit(
        e.RoundDealt(
            round_no=round_no,
            playing=playing,
            dealer=dealer,
            starter=starter,
            gosterge=deck.gosterge,
            racks=dealt.racks,
            stock=dealt.stock,
            nonces=nonces,
        )
    )
    start_turn(draft, starter)


def _seat_after(seat: int, playing: tuple[int, ...]) -> int:
    """T8, K6: the next playing seat in order; seats that do not play are skipped."""
    return next((each for each in playing if each > seat), playing[0])


def start_turn(draft: Draft, seat: int) -> None:
    """U4, U12: one clock a turn, and a number that never repeats at this table."""
    state = draft.state
    is_house = state.seats[seat].house is not None
    timeout_ms = turn_timeout_of(draft, is_house)
    draft.emit(e.TurnStarted(seat, state.last_turn + 1, draft.now_ms + timeout_ms))


def turn_timeout_of(draft: Draft, is_house: bool) -> int:
    """U4 for people; a house seat needs no longer than its AI may take (U10)."""
    full_ms = draft.state.config.turn_timeout_ms
    return min(full_ms, draft.rules.house_turn_ms) if is_house else full_ms
