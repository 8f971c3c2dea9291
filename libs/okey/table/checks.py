"""What a seat may do now. Each question is answered with None (it may) or with what makes the
refusal to raise.

Moves raise the answer, views list what has none: the rule stands here once. Views ask after every
row, and a refusal that nobody reads is not worth its words.
"""

from collections.abc import Callable
from typing import assert_never

from okey.errors import OkeyError
from okey.rules.rule_set import RuleSet
from okey.rules.variant import Variant
from okey.table import commands as c
from okey.table.errors import (
    AlreadyDrawn,
    CiftNotOpen,
    ClaimNotOpen,
    GostergeNotOpen,
    MustDrawFirst,
    NonceAlreadyAdded,
    NonceTooLate,
    NotContending,
    NotSeated,
    PileEmpty,
    TileNotInRack,
)
from okey.table.evolve import match_of, round_of, turn_of
from okey.table.state import TableState

MAY = None
Answer = Callable[[], OkeyError] | None


def seat_owned_by(state: TableState, player: str) -> int:
    """The seat that the player owns. Raises ``NotSeated``."""
    seat = state.seat_of(player)
    if seat < 0:
        raise NotSeated(f"{player} has no seat at {state.config.table_id}; spectators only watch")
    return seat


def contenders(state: TableState) -> tuple[int, ...]:
    """K5, K6, K9: the seats that can win the match: people while there are enough, else every seat.

    In a tie-break the same among the seats that play it.
    """
    seats = match_of(state).contenders or tuple(range(state.config.seat_count))
    people = tuple(seat for seat in seats if state.seats[seat].is_person)
    return people if len(people) >= least_contenders(state.config.rules) else seats


def least_contenders(rules: RuleSet) -> int:
    """K9: from how many people on only people contend; before 2026.12 the house did against one."""
    return 1 if rules.bars_given_up_seats else 2


def why_not(state: TableState, seat: int, action: c.Action) -> Answer:
    """Why the seat, whose turn it is, may not do this; a finish is judged by ``okey.rules.finish``
    beyond this.
    """
    match action:
        case c.Draw(source):
            return why_not_draw(state, source)
        case c.Discard(tile):
            return why_not_lay(state) or _why_not_hold(state, seat, tile)
        case c.Finish(tile):
            return why_not_finish(state, seat) or _why_not_hold(state, seat, tile)
        case c.AnnounceCift():
            return why_not_announce(state, seat)
        case c.WithdrawCift():
            return why_not_withdraw(state, seat)
        case c.ShowGosterge():
            return why_not_show(state, seat)
        case _:
            assert_never(action)


def why_not_draw(state: TableState, source: c.DrawSource) -> Answer:
    """U1, U2: one draw a turn, from the stock or the left neighbour's pile."""
    turn = turn_of(state)
    if turn.drawn is not None:
        return lambda: AlreadyDrawn(
            f"turn {turn.number} has drawn {turn.drawn} already; discard or finish (U1)"
        )
    running = round_of(state)
    if source is c.DrawSource.DISCARD and not running.hands[running.previous_seat(turn.seat)].pile:
        return lambda: PileEmpty("the left neighbour has no discard yet; draw from the stock (U1)")
    return MAY


def why_not_lay(state: TableState) -> Answer:
    """U1, H7: discarding and finishing need the fifteenth tile."""
    turn = turn_of(state)
    if turn.drawn is None:
        return lambda: MustDrawFirst(
            f"turn {turn.number} has not drawn yet; a discard or finish needs 15 tiles (U1)"
        )
    return MAY


def why_not_finish(state: TableState, seat: int) -> Answer:
    """H7, K6, K9: whether a try is allowed; the hand itself is judged only then (H8)."""
    if match_of(state).contenders and seat not in contenders(state):
        return lambda: NotContending(f"house seat {seat} does not contend while people do (K6, K9)")
    return why_not_lay(state)


def _why_not_hold(state: TableState, seat: int, tile: object) -> Answer:
    if tile not in round_of(state).hands[seat].rack:
        return lambda: TileNotInRack(f"seat {seat} does not hold {tile}")
    return MAY


def why_not_announce(state: TableState, seat: int) -> Answer:
    """H10: in one of the first own turns, before its discard; a tie-break knows none (K6)."""
    hand = round_of(state).hands[seat]
    limit = state.config.rules.cift_announce_turns
    if match_of(state).contenders:
        return lambda: CiftNotOpen("a tie-break knows no announcements (K6)")
    if hand.announced_at:
        return lambda: CiftNotOpen(
            f"seat {seat} announced çift in its turn {hand.announced_at} already (H10)"
        )
    if hand.own_turns > limit:
        return lambda: CiftNotOpen(
            f"own turn {hand.own_turns}; çift is announced in the first {limit} (H10)"
        )
    return MAY


def why_not_withdraw(state: TableState, seat: int) -> Answer:
    """H11: from the announcing turn to the end of the second own turn after it."""
    hand = round_of(state).hands[seat]
    limit = state.config.rules.cift_withdraw_turns
    if not hand.announced_at:
        return lambda: CiftNotOpen(
            f"seat {seat} has no standing çift announcement to take back (H11)"
        )
    if hand.own_turns - hand.announced_at > limit:
        return lambda: CiftNotOpen(
            f"own turn {hand.own_turns}; çift of turn {hand.announced_at} could be taken back "
            f"until turn {hand.announced_at + limit} (H11)"
        )
    return MAY


def why_not_show(state: TableState, seat: int) -> Answer:
    """K3: Klasik, the first own turn, before drawing, with the second copy in hand, once."""
    running = round_of(state)
    hand = running.hands[seat]
    if state.config.variant is not Variant.KLASIK or match_of(state).contenders:
        return lambda: GostergeNotOpen(
            "the gösterge is shown in Klasik only, and not in a tie-break (K3, K6)"
        )
    if hand.own_turns != 1:
        return lambda: GostergeNotOpen(
            f"own turn {hand.own_turns}; the gösterge is shown in the first (K3)"
        )
    if hand.has_shown_gosterge:
        return lambda: GostergeNotOpen(
            f"seat {seat} has shown the gösterge in this round already (K3)"
        )
    if turn_of(state).drawn is not None and seat != running.starter:
        return lambda: GostergeNotOpen("the gösterge is shown before drawing (K3)")
    if running.gosterge not in hand.rack:
        return lambda: GostergeNotOpen(
            f"seat {seat} does not hold the second {running.gosterge} (K3)"
        )
    return MAY


def why_not_claim(state: TableState, seat: int) -> Answer:
    """K9: the last person in a running Klasik match; a tie-break is won without asking (K6)."""
    others = [each for each, own in enumerate(state.seats) if own.is_person and each != seat]
    if (
        state.config.variant is not Variant.KLASIK
        or not state.config.rules.bars_given_up_seats
        or match_of(state).contenders
    ):
        return lambda: ClaimNotOpen("only a Klasik match before its tie-break is claimed (K9)")
    if others:
        return lambda: ClaimNotOpen(
            f"seats {', '.join(map(str, others))} are still people's; "
            "a match is claimed by the last person left (K9)"
        )
    return MAY


def why_not_nonce(state: TableState, seat: int) -> Answer:
    """T9: one nonce between commitment and deal, from a seat that plays the coming round."""
    if state.sealed is None:
        return lambda: NonceTooLate(
            "the round is dealt; the next nonce is for the round after it (T9)"
        )
    if state.match is not None and state.match.contenders and seat not in state.match.contenders:
        return lambda: NonceTooLate(f"seat {seat} does not play in the tie-break (K6)")
    if state.seats[seat].nonce:
        return lambda: NonceAlreadyAdded(
            f"seat {seat} has added its nonce for this round; it is never replaced (T9)"
        )
    return MAY
