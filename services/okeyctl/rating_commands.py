"""``okeyctl rating``: what players have and why, seasons, and whether all of it is right."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Annotated, Final, TypeVar

import typer

from okey.api.rating.v1 import rating_pb2, rating_pb2_grpc
from okey.rating import DEFAULT_KEEP_PERCENT
from okey_runtime.dev_platform import DEFAULT_DATA_DIR
from okey_runtime.identity import SUBJECT_PATTERN
from services.okeyctl import ratings
from services.okeyctl.as_json import json_line
from services.okeyctl.audit import progress_of
from services.okeyctl.ending import FINDINGS, Output, refusals, refuse
from services.okeyctl.options import AsJson, AsJsonLines, DataDir, RatingAddress, TokenFile
from services.okeyctl.reach import Reach, reach

_TIMEOUT_S: Final = 30.0

app = typer.Typer(
    help="Ratings: show, explain, recompute; and seasons.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
season = typer.Typer(help="Start a season, list them.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(season, name="season")


Stub = rating_pb2_grpc.RatingServiceStub
T = TypeVar("T")


class LadderName(StrEnum):
    """How a ladder is written on a command line."""

    CANAK = "canak"
    KLASIK = "klasik"
    OVERALL = "overall"

    @property
    def number(self) -> rating_pb2.Ladder.ValueType:
        """The proto's value."""
        return rating_pb2.Ladder.Value(f"LADDER_{self.name}")


@app.command()
def show(
    player: str,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    rating: RatingAddress = None,
    token_file: TokenFile = None,
) -> None:
    """A player's rating on every ladder, and its place in the running season."""
    _check_player(player)
    with refusals():
        way = reach("rating", data_dir, rating, token_file)
        found = asyncio.run(ratings.fetch(way, player))
    if as_json:
        print(json.dumps([ratings.document(each) for each in found], indent=2))
    else:
        ratings.show(player, found, Output())


@app.command()
def history(
    player: str,
    ladder: Annotated[LadderName, typer.Option(help="The ladder.")] = LadderName.OVERALL,
    limit: Annotated[int, typer.Option(min=1, help="So many changes, the newest ones.")] = 50,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    rating: RatingAddress = None,
    token_file: TokenFile = None,
) -> None:
    """What changed a player's rating, newest first."""
    _check_player(player)
    with refusals():
        way = reach("rating", data_dir, rating, token_file)
        changes = asyncio.run(ratings.fetch_history(way, player, ladder.number, limit))
    if as_json:
        print(json.dumps([ratings.change_document(each) for each in changes], indent=2))
    else:
        ratings.show_history(player, ladder.value, changes, Output())


@app.command()
def rebuild(
    repair: Annotated[
        bool, typer.Option(help="Set right what is derived; no report is taken meanwhile.")
    ] = False,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    rating: RatingAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Recompute everything from the recorded events; status 1 if anything stored differs."""
    with refusals():
        way = reach("rating", data_dir, rating, token_file)
        with progress_of() as tell:
            differences, summary = asyncio.run(ratings.rebuild(way, repair=repair, tell=tell))
    if as_json:
        print(json.dumps(ratings.rebuild_document(differences, summary), indent=2))
    else:
        ratings.show_rebuild(differences, summary, Output())
    sys.exit(FINDINGS if summary.differences else 0)


@season.command("start")
def start_season(
    number: Annotated[int, typer.Argument(min=2, help="The running season's plus one.")],
    name: Annotated[str, typer.Option(help="What it is called.")] = "",
    keep_percent: Annotated[
        int, typer.Option(min=0, max=100, help="Of the distance to 1200 that players keep.")
    ] = DEFAULT_KEEP_PERCENT,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    rating: RatingAddress = None,
    token_file: TokenFile = None,
) -> None:
    """End the running season and start the next one; the same command again changes nothing."""
    request = rating_pb2.StartSeasonRequest(season=number, name=name, keep_percent=keep_percent)
    with refusals():
        way = reach("rating", data_dir, rating, token_file)
        started = _ask(way, lambda stub: stub.StartSeason(request, timeout=_TIMEOUT_S))
    season = started.season
    print(json_line(season) if as_json else ratings.season_line(season))


@season.command("list")
def list_seasons(
    as_json: AsJsonLines = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    rating: RatingAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Every season, the newest first."""
    request = rating_pb2.ListSeasonsRequest()
    with refusals():
        way = reach("rating", data_dir, rating, token_file)
        found = _ask(way, lambda stub: stub.ListSeasons(request, timeout=_TIMEOUT_S))
    for each in found.seasons:
        print(json_line(each) if as_json else ratings.season_line(each))


def _check_player(player: str) -> None:
    if not SUBJECT_PATTERN.fullmatch(player):
        refuse(f"{player!r} is no player id: 1 to 64 of A-Z a-z 0-9 _ . : @ -")


def _ask(way: Reach, call: Callable[[Stub], Awaitable[T]]) -> T:
    async def ask() -> T:
        async with way.open() as channel:
            return await call(Stub(channel))

    return asyncio.run(ask())
