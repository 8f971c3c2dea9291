"""``okeyctl rating``: asking the rating service, and showing what it says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import grpc
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from okey.api.rating.v1 import rating_pb2, rating_pb2_grpc
from okey_runtime.identity import display_name
from services.okeyctl.reach import Reach

_TIMEOUT_S: Final = 30.0
# Every event of years is rated anew.
_REBUILD_TIMEOUT_S: Final = 3_600.0
_PAGE: Final = 200
_WIDE: Final = 10_000
"""Columns where no terminal limits them: nothing is wrapped for a file or a pipe."""

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Placed:
    """A rating, and its place in the running season if it has one."""

    rating: rating_pb2.Rating
    place: rating_pb2.GetRankResponse | None


async def fetch(service: Reach, player: str) -> list[Placed]:
    """A player's ratings with their places. Raises ``grpc.aio.AioRpcError``."""
    async with service.open() as channel:
        stub = rating_pb2_grpc.RatingServiceStub(channel)
        request = rating_pb2.GetRatingRequest(player_id=player)
        found = await stub.GetRating(request, timeout=_TIMEOUT_S)
        return [Placed(rating, await _place(stub, rating)) for rating in found.ratings]


async def fetch_history(
    service: Reach, player: str, ladder: rating_pb2.Ladder.ValueType, limit: int
) -> list[rating_pb2.RatingChange]:
    """A player's newest changes. Raises ``grpc.aio.AioRpcError``."""
    request = rating_pb2.ListHistoryRequest(player_id=player, ladder=ladder)
    changes: list[rating_pb2.RatingChange] = []
    async with service.open() as channel:
        stub = rating_pb2_grpc.RatingServiceStub(channel)
        while len(changes) < limit:
            request.page_size = min(_PAGE, limit - len(changes))
            page = await stub.ListHistory(request, timeout=_TIMEOUT_S)
            changes += page.changes
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
    return changes


async def rebuild(
    service: Reach, *, repair: bool, tell: Tell
) -> tuple[list[rating_pb2.Difference], rating_pb2.RebuildSummary]:
    """Have everything recomputed. Raises ``grpc.aio.AioRpcError``."""
    differences: list[rating_pb2.Difference] = []
    summary = rating_pb2.RebuildSummary()
    request = rating_pb2.RebuildRatingsRequest(repair=repair)
    async with service.open() as channel:
        stub = rating_pb2_grpc.RatingServiceStub(channel)
        async for message in stub.RebuildRatings(request, timeout=_REBUILD_TIMEOUT_S):
            match message.WhichOneof("message"):
                case "progress":
                    tell(message.progress.step, message.progress.done, message.progress.total)
                case "difference":
                    differences.append(message.difference)
                case _:
                    summary = message.summary
    return differences, summary


def document(placed: Placed) -> dict[str, object]:
    """A rating for a program."""
    found: dict[str, object] = {
        "ladder": ladder_name(placed.rating.ladder),
        "rating_milli": placed.rating.rating_milli,
        "rated_matches": placed.rating.rated_matches,
        "provisional": placed.rating.is_provisional,
    }
    if placed.place is not None:
        found |= {
            "season": placed.place.season,
            "section": section_name(placed.place.section),
            "rank": placed.place.entry.rank,
            "players": placed.place.players,
        }
    return found


def change_document(change: rating_pb2.RatingChange) -> dict[str, object]:
    """A change for a program."""
    return {
        "occurred_at": _moment(change.occurred_ms),
        "season": change.season,
        "kind": _kind(change),
        "match": change.match_id,
        "before_milli": change.rating_before_milli,
        "delta_milli": change.delta_milli,
        "rated_matches": change.rated_matches,
    }


def rebuild_document(
    differences: Sequence[rating_pb2.Difference], summary: rating_pb2.RebuildSummary
) -> dict[str, object]:
    """A rebuild for a program."""
    return {
        "records": summary.records,
        "changes": summary.changes,
        "ratings": summary.ratings,
        "mended": summary.mended,
        "difference_count": summary.differences,
        "differences": [
            {
                "kind": difference_name(each),
                "subject": each.subject,
                "match": each.match_id,
                "ladder": ladder_name(each.ladder),
                "season": each.season,
                "expected": each.expected,
                "actual": each.actual,
            }
            for each in differences
        ],
    }


def show(player: str, found: Sequence[Placed], console: Console) -> None:
    """A player's ratings for a person."""
    table = Table("ladder", "rating", "rated matches", "place", title=Text(player))
    for placed in found:
        rating, place = placed.rating, "no rated match in this season"
        if placed.place is not None:
            section = section_name(placed.place.section)
            place = f"{placed.place.entry.rank:,} of {placed.place.players:,} {section}"
        cells = (points(rating.rating_milli), f"{rating.rated_matches:,}", place)
        table.add_row(ladder_name(rating.ladder), *cells)
    _print(table, console)


def show_history(
    player: str, ladder: str, changes: Sequence[rating_pb2.RatingChange], console: Console
) -> None:
    """A player's changes for a person."""
    numbers = ("season", "before", "change", "after", "rated matches")
    names = ("when", "season", "kind", "before", "change", "after", "rated matches", "match")
    columns = [Column(name, overflow="fold", no_wrap=name in numbers) for name in names]
    table = Table(*columns, title=Text(f"{player} on {ladder}"))
    for change in changes:
        after = change.rating_before_milli + change.delta_milli
        table.add_row(
            _moment(change.occurred_ms),
            str(change.season),
            _kind(change),
            points(change.rating_before_milli),
            f"{'+' if change.delta_milli >= 0 else ''}{points(change.delta_milli)}",
            points(after),
            f"{change.rated_matches:,}",
            change.match_id,
        )
    _print(table, console)


def show_rebuild(
    differences: Sequence[rating_pb2.Difference],
    summary: rating_pb2.RebuildSummary,
    console: Console,
) -> None:
    """What a rebuild came to, for a person."""
    if differences:
        table = Table("difference", "of", "ladder", "season", "the events give", "stored", "match")
        for each in differences:
            table.add_row(
                difference_name(each),
                Text(display_name(each.subject)),
                ladder_name(each.ladder),
                str(each.season or ""),
                f"{each.expected:,}",
                f"{each.actual:,}",
                each.match_id,
            )
        _print(table, console)
    size = f"{summary.records:,} events, {summary.changes:,} changes, {summary.ratings:,} ratings"
    if not summary.differences:
        console.print(f"{size}: all as the events give them.")
        return
    told = "" if len(differences) == summary.differences else f" (the first {len(differences):,})"
    console.print(f"{size}: {summary.differences:,} differences{told}, {summary.mended:,} mended.")


def season_line(season: rating_pb2.Season) -> str:
    """A season in one line."""
    began = _moment(season.started_ms) if season.started_ms else "the beginning"
    ended = f"until {_moment(season.ended_ms)}" if season.ended_ms else "running"
    name = f" {display_name(season.name)!r}" if season.name else ""
    kept = "" if season.season == 1 else f", {season.keep_percent} % kept"
    by = f", by {season.started_by}" if season.started_by else ""
    return f"season {season.season}{name} from {began}, {ended}{kept}{by}"


def points(milli: int) -> str:
    """Milli-points as points, to the last digit."""
    sign = "-" if milli < 0 else ""
    return f"{sign}{abs(milli) // 1000}.{abs(milli) % 1000:03}"


def ladder_name(ladder: rating_pb2.Ladder.ValueType) -> str:
    """Such as ``canak``; empty where none is named."""
    name: str = rating_pb2.Ladder.Name(ladder)
    return name.removeprefix("LADDER_").lower() if ladder else ""


def section_name(section: rating_pb2.Section.ValueType) -> str:
    """``established`` or ``provisional``."""
    name: str = rating_pb2.Section.Name(section)
    return name.removeprefix("SECTION_").lower()


def difference_name(difference: rating_pb2.Difference) -> str:
    """What differs, such as ``RATING``."""
    name: str = rating_pb2.DifferenceKind.Name(difference.kind)
    return name.removeprefix("DIFFERENCE_KIND_")


def _kind(change: rating_pb2.RatingChange) -> str:
    name: str = rating_pb2.ChangeKind.Name(change.kind)
    return name.removeprefix("CHANGE_KIND_")


def _moment(moment_ms: int) -> str:
    return datetime.fromtimestamp(moment_ms / 1000, UTC).isoformat(timespec="seconds")


def _print(table: Table, console: Console) -> None:
    if not console.is_terminal:
        console.width = _WIDE
    console.print(table)


async def _place(
    stub: rating_pb2_grpc.RatingServiceStub, rating: rating_pb2.Rating
) -> rating_pb2.GetRankResponse | None:
    request = rating_pb2.GetRankRequest(player_id=rating.player_id, ladder=rating.ladder)
    try:
        place: rating_pb2.GetRankResponse = await stub.GetRank(request, timeout=_TIMEOUT_S)
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            return None
        raise
    return place
