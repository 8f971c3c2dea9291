"""``okeyctl player``: where a player is, what is kept of it, and erasing it."""

import asyncio
import json
from dataclasses import asdict
from typing import Annotated

import typer

from services.okeyctl import player_data, player_view
from services.okeyctl.connecting import calls_everything
from services.okeyctl.ending import refuse
from services.okeyctl.options import AsJson, AsJsonLines, Player, Reason
from services.okeyctl.player_data import Ways

app = typer.Typer(
    help="See where a player is, export what is kept, erase.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
@calls_everything
def show(ways: Ways, player: Player, as_json: AsJson = False) -> None:
    """Show a player's name, table, ticket, chips and ratings."""
    found = asyncio.run(player_view.look(ways, player))
    print(player_view.as_json(found) if as_json else "\n".join(player_view.lines(found)))


@app.command()
@calls_everything
def export(ways: Ways, player: Player) -> None:
    """Print all that is kept of a player as JSON.

    Of the matches it names the tables, not the moves there.
    """
    print(player_data.as_json(asyncio.run(player_data.export(ways, player))))


@app.command()
@calls_everything
def erase(
    ways: Ways,
    player: Player,
    reason: Reason,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False,
    unknown: Annotated[
        bool, typer.Option("--unknown", help="Close an id that was never seen, too.")
    ] = False,
    as_json: AsJsonLines = False,
) -> None:
    """Close a player's id for good.

    Name and places on boards go, chips become unclaimed. Asks first. Refused while the player sits
    or has chips at stake, and for an id that nobody has seen. What broke off is simply asked for
    again.
    """

    async def show() -> None:
        async for step in player_data.erase(ways, player, reason):
            print(json.dumps(asdict(step)) if as_json else f"{step.service}: {step.outcome}")

    chips = asyncio.run(player_data.chips_at_stake(ways, player, allow_unknown=unknown))
    if not yes:
        _ask(player, chips)
    asyncio.run(show())
    if not as_json:
        print(f"{player} is erased")


def _ask(player: str, chips: int) -> None:
    """Return if whoever sits there says yes."""
    sure = f"Close {player} for good? {chips:,} chips become unclaimed, and there is no way back."
    try:
        is_sure = typer.confirm(sure, err=True)
    except typer.Abort:
        refuse("nobody said yes, and nothing was erased: say it, or give --yes")
    if not is_sure:
        refuse("nothing was erased")
