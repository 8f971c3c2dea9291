"""How turns, rounds and matches end in both variants (U11, U14, Ç3..Ç7, K2..K10, M8)."""

from typing import assert_never

from okey.money.outcome import CanakDraw, CanakWin, HouseWin, KlasikDraw, KlasikWin, Outcome
from okey.money.settle import kasa_after
from okey.rules.finish import FinishKind
from okey.rules.rule_set import RuleSet
from okey.rules.tile import Tile
from okey.rules.variant import Variant
from okey.table import events as e
from okey.table.checks import contenders
from okey.table.draft import Draft
from okey.table.reasons import OutcomeKind, RoundResult
from okey.table.starting import start_turn


def end_turn(draft: Draft) -> None:
    """After a plain discard: the next seat, or a drawn round (U11, U14)."""
    running = draft.round
    limit = draft.rules.stockless_turns_per_seat * len(running.playing)
    if not running.stock:
        round_drawn(draft, RoundResult.STOCK_EMPTY)
    elif running.stockless_turns >= limit:
        round_drawn(draft, RoundResult.NO_STOCK_DRAWS)
    else:
        start_turn(draft, running.next_seat(draft.turn.seat))


def round_won(draft: Draft, seat: int, finish: FinishKind, laid: Tile) -> None:
    """A valid finish: Çanak is over (Ç3..Ç5), a tie-break too (K6), else points are taken (K2)."""
    is_tie_break = bool(draft.match.contenders)
    end_round(draft, RoundResult.WON, seat, finish, laid)
    if draft.state.config.variant is Variant.CANAK:
        end_match(draft, CanakWin(seat, finish))
    elif is_tie_break:
        end_match(draft, KlasikWin(seat), is_tie_break=True)
    else:
        take_points(draft, seat, points_of(finish, draft.rules))


def points_of(finish: FinishKind, rules: RuleSet) -> int:
    """K2: what the winner of a Klasik round takes from each opponent."""
    match finish:
        case FinishKind.NORMAL:
            return rules.normal_points
        case FinishKind.CIFT_OKEY:
            return rules.double_points
        case FinishKind.OKEY | FinishKind.CIFT:
            return rules.special_points
        case _:
            assert_never(finish)


def round_drawn(draft: Draft, result: RoundResult) -> None:
    """Nobody scores: Çanak is over (Ç7), Klasik goes on until too many are drawn in a row (K8,
    K10).
    """
    end_round(draft, result)
    if draft.state.config.variant is Variant.CANAK:
        end_match(draft, CanakDraw())
    elif draft.match.drawn_in_a_row >= draft.rules.drawn_rounds_limit:
        end_match(draft, KlasikDraw(contenders(draft.state)))
    else:
        start_pause(draft)


def end_round(
    draft: Draft,
    result: RoundResult,
    seat: int = -1,
    finish: FinishKind | None = None,
    laid: Tile | None = None,
) -> None:
    """Publish the round's seed and seal the next one (T9)."""
    running = draft.round
    racks = [list(hand.rack) for hand in running.hands]
    if laid is not None:
        racks[seat].remove(laid)
    draft.emit(
        e.RoundEnded(
            round_no=running.round_no,
            result=result,
            seat=seat,
            finish=finish,
            laid=laid,
            racks=tuple(tuple(rack) for rack in racks),
            revealed=running.seed,
            sealed=draft.context.fresh(),
        )
    )


def take_points(draft: Draft, seat: int, points_each: int) -> None:
    """K2..K4: every other seat loses points; anyone at 0 or below ends the match at once."""
    points = tuple(
        has if each == seat else has - points_each for each, has in enumerate(draft.match.points)
    )
    draft.emit(e.PointsTaken(seat, points_each, points))
    if min(points) > 0:
        if draft.state.round is None:
            start_pause(draft)
        return
    cut_short(draft)
    _crown(draft)


def _crown(draft: Draft) -> None:
    """K5, K6, K9: the highest of the contenders wins; several play a tie-break."""
    points = draft.match.points
    able = contenders(draft.state)
    best = max(points[seat] for seat in able)
    tied = tuple(seat for seat in able if points[seat] == best)
    if len(tied) == 1:
        end_match(draft, KlasikWin(tied[0]))
        return
    draft.emit(e.TieBreakStarted(tied))
    if not end_if_house_wins(draft):
        start_pause(draft)


def start_pause(draft: Draft) -> None:
    """U13: a short pause, then the next round."""
    draft.emit(e.PauseStarted(draft.now_ms + draft.rules.round_pause_ms))


def end_if_house_wins(draft: Draft) -> bool:
    """M8: no person is left who could win, so the match ends for the bot bank."""
    if any(draft.state.seats[seat].is_person for seat in contenders(draft.state)):
        return False
    cut_short(draft)
    end_match(draft, HouseWin())
    return True


def end_if_one_contends(draft: Draft) -> bool:
    """K9: the last contender of a tie-break wins it at once."""
    able = contenders(draft.state)
    if not draft.match.contenders or not draft.rules.bars_given_up_seats or len(able) > 1:
        return False
    cut_short(draft)
    end_match(draft, KlasikWin(able[0]), is_tie_break=True)
    return True


def cut_short(draft: Draft) -> None:
    """End the running round, if there is one: the match is over in the middle of it (K4)."""
    if draft.state.round is not None:
        end_round(draft, RoundResult.CUT_SHORT)


def end_match(draft: Draft, outcome: Outcome, *, is_tie_break: bool = False) -> None:
    """The match is over: say so with all that wallet and rating need; the kasa changes by the money
    rules.
    """
    state, match = draft.state, draft.match
    kind, winner, finish, contending = _told(outcome)
    draft.emit(
        e.MatchEnded(
            match_id=match.match_id,
            kind=kind,
            winner=winner,
            finish=finish,
            contending=match.contenders if is_tie_break else contending,
            is_tie_break=is_tie_break,
            players=match.players,
            departures=tuple(seat.departure for seat in state.seats),
            points=match.points,
            kasa=kasa_after(match.money, outcome, draft.rules),
        )
    )


def _told(
    outcome: Outcome,
) -> tuple[OutcomeKind, int, FinishKind | None, tuple[int, ...]]:
    match outcome:
        case CanakWin(seat, finish):
            return OutcomeKind.CANAK_WIN, seat, finish, ()
        case CanakDraw():
            return OutcomeKind.CANAK_DRAW, -1, None, ()
        case KlasikWin(seat):
            return OutcomeKind.KLASIK_WIN, seat, None, ()
        case KlasikDraw(contending):
            return OutcomeKind.KLASIK_DRAW, -1, None, contending
        case HouseWin():
            return OutcomeKind.HOUSE_WIN, -1, None, ()
        case _:
            assert_never(outcome)
