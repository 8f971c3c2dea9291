"""``okeyctl player``: what is kept of a player, and erasing it."""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from okey_runtime.dev_platform import DEFAULT_DATA_DIR
from okey_runtime.identity import SUBJECT_PATTERN
from services.okeyctl import player_data, player_view
from services.okeyctl.ending import refusals, refuse
from services.okeyctl.options import (
    AsJson,
    AsJsonLines,
    DataDir,
    EngineAddress,
    LobbyAddress,
    RatingAddress,
    TokenFile,
    WalletAddress,
)
from services.okeyctl.player_data import Ways
from services.okeyctl.reach import reach

app = typer.Typer(
    help="A player: where it is, its data, erasing it.", no_args_is_help=True, rich_markup_mode=None
)


@app.command()
def show(
    player: str,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    lobby: LobbyAddress = None,
    engine: EngineAddress = None,
    wallet: WalletAddress = None,
    rating: RatingAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Where a player is: name, table, ticket, chips, ratings."""
    _check(player)
    with refusals():
        ways = _ways(data_dir, lobby, engine, wallet, rating, token_file)
        found = asyncio.run(player_view.look(ways, player))
    print(player_view.as_json(found) if as_json else "\n".join(player_view.lines(found)))


@app.command()
def export(
    player: str,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    lobby: LobbyAddress = None,
    engine: EngineAddress = None,
    wallet: WalletAddress = None,
    rating: RatingAddress = None,
    token_file: TokenFile = None,
) -> None:
    """What is kept of a player, as one JSON object; the tables it sat at, not the moves there."""
    _check(player)
    with refusals():
        ways = _ways(data_dir, lobby, engine, wallet, rating, token_file)
        document = asyncio.run(player_data.export(ways, player))
    print(player_data.as_json(document))


@app.command()
def erase(
    player: str,
    reason: Annotated[str, typer.Option(help="Why; kept for good, with your token's subject.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False,
    unknown: Annotated[
        bool, typer.Option("--unknown", help="Close an id too that was never seen.")
    ] = False,
    as_json: AsJsonLines = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    lobby: LobbyAddress = None,
    engine: EngineAddress = None,
    wallet: WalletAddress = None,
    rating: RatingAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Close a player's id for good: name and board places go, chips become unclaimed.

    Asks first. Refused while the player sits or has chips at stake, and for an id that nobody has
    seen. What broke off is simply asked for again.
    """
    _check(player)

    async def show(ways: Ways) -> None:
        async for step in player_data.erase(ways, player, reason):
            print(json.dumps(asdict(step)) if as_json else f"{step.service}: {step.outcome}")

    with refusals():
        ways = _ways(data_dir, lobby, engine, wallet, rating, token_file)
        chips = asyncio.run(player_data.chips_at_stake(ways, player, allow_unknown=unknown))
        if not yes:
            _ask(player, chips)
        asyncio.run(show(ways))
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


def _ways(
    data_dir: Path,
    lobby: str | None,
    engine: str | None,
    wallet: str | None,
    rating: str | None,
    token_file: Path | None,
) -> Ways:
    return Ways(
        lobby=reach("lobby", data_dir, lobby, token_file),
        engine=reach("engine", data_dir, engine, token_file),
        wallet=reach("wallet", data_dir, wallet, token_file),
        rating=reach("rating", data_dir, rating, token_file),
    )


def _check(player: str) -> None:
    if not SUBJECT_PATTERN.fullmatch(player):
        refuse(f"{player!r} is no player id: 1 to 64 of A-Z a-z 0-9 _ . : @ -")
