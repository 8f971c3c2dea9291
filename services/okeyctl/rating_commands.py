"""``okeyctl rating``: what players have and why, seasons, and whether all of it is right."""

import asyncio
import json
import sys
from enum import StrEnum
from typing import Annotated

import typer

from okey.api.rating.v1 import rating_pb2, rating_pb2_grpc
from okey.rating import DEFAULT_KEEP_PERCENT
from services.okeyctl import ratings
from services.okeyctl.as_json import json_line
from services.okeyctl.asking import TIMEOUT_S, ask
from services.okeyctl.audit import progress_of
from services.okeyctl.connecting import calls
from services.okeyctl.ending import FINDINGS, Output
from services.okeyctl.options import AsJson, AsJsonLines, Player
from services.okeyctl.reach import Reach

app = typer.Typer(
    help="Show, explain and recompute ratings; start seasons.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
season = typer.Typer(
    help="Start a season, list seasons.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(season, name="season")

Stub = rating_pb2_grpc.RatingServiceStub


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
@calls("rating")
def show(way: Reach, player: Player, as_json: AsJson = False) -> None:
    """Show a player's ratings and places in this season."""
    found = asyncio.run(ratings.fetch(way, player))
    if as_json:
        print(json.dumps([ratings.document(each) for each in found], indent=2))
    else:
        ratings.show(player, found, Output())


@app.command()
@calls("rating")
def history(
    way: Reach,
    player: Player,
    ladder: Annotated[LadderName, typer.Option(help="On which ladder.")] = LadderName.OVERALL,
    limit: Annotated[int, typer.Option(min=1, help="So many changes, the newest ones.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show what changed a player's rating, newest first."""
    changes = asyncio.run(ratings.fetch_history(way, player, ladder.number, limit))
    if as_json:
        print(json.dumps([ratings.change_document(each) for each in changes], indent=2))
    else:
        ratings.show_history(player, ladder.value, changes, Output())


@app.command()
@calls("rating")
def rebuild(
    way: Reach,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Set right what differs; no report is taken meanwhile."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Recompute every rating from its recorded events.

    Status 1 if anything that is stored differs.
    """
    with progress_of() as tell:
        differences, summary = asyncio.run(ratings.rebuild(way, repair=repair, tell=tell))
    if as_json:
        print(json.dumps(ratings.rebuild_document(differences, summary), indent=2))
    else:
        ratings.show_rebuild(differences, summary, Output())
    sys.exit(FINDINGS if summary.differences else 0)


@season.command("start")
@calls("rating")
def start_season(
    way: Reach,
    number: Annotated[
        int, typer.Argument(metavar="NUMBER", min=2, help="The running season's plus one.")
    ],
    name: Annotated[str, typer.Option(help="What it is called.")] = "",
    keep_percent: Annotated[
        int, typer.Option(min=0, max=100, help="Of the distance to 1200 that players keep.")
    ] = DEFAULT_KEEP_PERCENT,
    as_json: AsJson = False,
) -> None:
    """End the running season and start the next one.

    The same command again changes nothing.
    """
    request = rating_pb2.StartSeasonRequest(season=number, name=name, keep_percent=keep_percent)
    started = ask(way, Stub, lambda stub: stub.StartSeason(request, timeout=TIMEOUT_S))
    season = started.season
    print(json_line(season) if as_json else ratings.season_line(season))


@season.command("list")
@calls("rating")
def list_seasons(way: Reach, as_json: AsJsonLines = False) -> None:
    """List every season, the newest first."""
    request = rating_pb2.ListSeasonsRequest()
    found = ask(way, Stub, lambda stub: stub.ListSeasons(request, timeout=TIMEOUT_S))
    for each in found.seasons:
        print(json_line(each) if as_json else ratings.season_line(each))
