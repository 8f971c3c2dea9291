"""Rating's words as protobuf messages, and back."""

from collections.abc import Iterator

from okey.api.rating.v1 import rating_pb2
from okey.errors import InvalidInput
from okey.rating import (
    CanakWon,
    Departure,
    Drawn,
    HouseWon,
    KlasikWon,
    Ladder,
    Outcome,
    Sink,
    Standing,
    Voided,
)
from okey.rules.rule_set import RuleSet
from okey.rules.variant import Mode, Variant
from services.rating.counting import Board
from services.rating.difference import Difference, Progress
from services.rating.history import HistoryPage
from services.rating.place import BoardPage, PageStart, PageTokenMalformed, Rank, RankedPlayer
from services.rating.rebuild import Rebuilt
from services.rating.record import (
    ForfeitRecord,
    MatchRecord,
    RatingChanged,
    RecordedSeat,
    SinkAmount,
)
from services.rating.seasons import Season

_SINKS = {Sink.FORFEITS: rating_pb2.SINK_FORFEITS, Sink.SEASONS: rating_pb2.SINK_SEASONS}


class ResultUnknown(InvalidInput):
    """A match result that this version does not know."""

    reason = "RESULT_UNKNOWN"


def match_from(request: rating_pb2.RecordMatchRequest) -> MatchRecord:
    """The match that a request reports, or ``ContradictoryMatch``."""
    return MatchRecord(
        table_id=request.table_id,
        match_id=request.match_id,
        variant=Variant(request.variant),
        mode=Mode(request.mode),
        seats=tuple(
            None if seat.house else RecordedSeat(seat.player_id, Departure(seat.departure))
            for seat in request.seats
        ),
        outcome=_outcome_from(request.result),
        ended_ms=request.ended_ms,
        rules_version=request.rules_version,
        is_private=request.is_private,
    )


def forfeit_from(request: rating_pb2.RecordForfeitRequest) -> ForfeitRecord:
    """The forfeit that a request reports."""
    return ForfeitRecord(
        match_id=request.match_id,
        variant=Variant(request.variant),
        seat=request.seat,
        player_id=request.player_id,
        forfeited_ms=request.forfeited_ms,
        rules_version=request.rules_version,
    )


def history_token_from(token: str) -> int | None:
    """The number of the change after which a page of history goes on; None is the newest page."""
    if not token:
        return None
    if not (token.isascii() and token.isdigit() and len(token) <= 18):
        raise PageTokenMalformed(f"page_token {token!r}: send next_page_token as it came")
    return int(token)


def changes_to(changes: tuple[RatingChanged, ...]) -> list[rating_pb2.RatingChange]:
    """Changes in the given order."""
    return [
        rating_pb2.RatingChange(
            player_id=change.player_id,
            ladder=rating_pb2.Ladder.ValueType(change.ladder),
            kind=rating_pb2.ChangeKind.ValueType(change.kind),
            match_id=change.match_id,
            rating_before_milli=change.rating_before_milli,
            delta_milli=change.delta_milli,
            rated_matches=change.rated_matches,
            occurred_ms=change.occurred_ms,
            season=change.season,
        )
        for change in changes
    ]


def sink_to(amount: SinkAmount) -> rating_pb2.SinkAmount:
    """What a sink took."""
    return rating_pb2.SinkAmount(
        ladder=rating_pb2.Ladder.ValueType(amount.ladder),
        sink=_SINKS[amount.sink],
        amount_milli=amount.amount_milli,
    )


def rating_to(
    player_id: str, ladder: Ladder, standing: Standing, rules: RuleSet
) -> rating_pb2.Rating:
    """One player's rating on one ladder."""
    return rating_pb2.Rating(
        player_id=player_id,
        ladder=rating_pb2.Ladder.ValueType(ladder),
        rating_milli=standing.rating_milli,
        rated_matches=standing.rated_matches,
        is_provisional=standing.is_provisional(rules),
    )


def history_to(page: HistoryPage) -> rating_pb2.ListHistoryResponse:
    """A page of history."""
    return rating_pb2.ListHistoryResponse(
        changes=changes_to(page.changes),
        next_page_token="" if page.next_before is None else str(page.next_before),
    )


def board_to(page: BoardPage, ladder: Ladder, rules: RuleSet) -> rating_pb2.ListLeaderboardResponse:
    """A page of the leaderboard."""
    board = Board(page.season, ladder)
    token = PageStart(board, page.section, page.next_place).token() if page.next_place else ""
    return rating_pb2.ListLeaderboardResponse(
        entries=[_ranked_to(entry, ladder, rules) for entry in page.entries],
        next_page_token=token,
        section=rating_pb2.Section.ValueType(page.section),
        season=page.season,
    )


def rank_to(rank: Rank, ladder: Ladder, rules: RuleSet) -> rating_pb2.GetRankResponse:
    """A player's place."""
    return rating_pb2.GetRankResponse(
        entry=_ranked_to(rank.entry, ladder, rules),
        section=rating_pb2.Section.ValueType(rank.section),
        players=rank.players,
        season=rank.season,
    )


def season_to(season: Season) -> rating_pb2.Season:
    """A season."""
    return rating_pb2.Season(
        season=season.season,
        name=season.name,
        keep_percent=season.keep_percent,
        towards_milli=season.towards_milli,
        started_ms=season.started_ms,
        ended_ms=season.ended_ms or 0,
        started_by=season.started_by,
    )


def rebuild_to(message: Progress | Rebuilt) -> Iterator[rating_pb2.RebuildRatingsResponse]:
    """The messages that tell how far a rebuild is, or its differences and then its summary."""
    if isinstance(message, Progress):
        progress = rating_pb2.RebuildProgress(
            step=message.step, done=message.done, total=message.total
        )
        yield rating_pb2.RebuildRatingsResponse(progress=progress)
        return
    for difference in message.differences:
        yield rating_pb2.RebuildRatingsResponse(difference=_difference_to(difference))
    summary = rating_pb2.RebuildSummary(
        records=message.records,
        changes=message.changes,
        ratings=message.ratings,
        differences=message.found,
        mended=message.mended,
    )
    yield rating_pb2.RebuildRatingsResponse(summary=summary)


def _difference_to(difference: Difference) -> rating_pb2.Difference:
    return rating_pb2.Difference(
        kind=rating_pb2.DifferenceKind.ValueType(difference.kind),
        subject=difference.subject,
        match_id=difference.match_id,
        ladder=rating_pb2.Ladder.ValueType(difference.ladder or 0),
        season=difference.season,
        expected=difference.expected,
        actual=difference.actual,
    )


def _ranked_to(entry: RankedPlayer, ladder: Ladder, rules: RuleSet) -> rating_pb2.RankedRating:
    return rating_pb2.RankedRating(
        rank=entry.rank, rating=rating_to(entry.player_id, ladder, entry.standing, rules)
    )


def _outcome_from(result: rating_pb2.MatchResult) -> Outcome:
    match result.WhichOneof("result"):
        case "canak_win":
            return CanakWon(result.canak_win.winner_seat)
        case "klasik_win":
            won = result.klasik_win
            return KlasikWon(won.winner_seat, tuple(won.remaining_points))
        case "house_win":
            return HouseWon()
        case "draw":
            return Drawn()
        case "voided":
            return Voided()
        case unknown:
            raise ResultUnknown(f"result {unknown!r}: name how the match ended")
