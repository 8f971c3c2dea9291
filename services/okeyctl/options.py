"""Options and arguments that many commands have."""

from pathlib import Path
from typing import Annotated

import typer

from okey_runtime.dev_platform import DATA_DIR_VARIABLE
from okey_runtime.identity import SUBJECT_PATTERN, is_reserved
from services.okeyctl.ending import refuse


def checked_player(player: str) -> str:
    """The id. Ends the command where no player can have it."""
    if not SUBJECT_PATTERN.fullmatch(player):
        refuse(f"{player!r} is no player id: 1 to 64 of A-Z a-z 0-9 _ . : @ -")
    if is_reserved(player):
        refuse(f"{player!r} is an id of the house or a service, or an account's name: no player's")
    return player


DataDir = Annotated[
    Path,
    typer.Option(
        envvar=DATA_DIR_VARIABLE, help="The data folder of a platform on this machine, to find it."
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        envvar="OKEY_OPERATOR_TOKEN_FILE",
        help="An operator's token for that service, or a folder with one a service, such as "
        "wallet.token; an address needs it.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
AsJsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]

Player = Annotated[
    str, typer.Argument(metavar="PLAYER", help="The player's id.", callback=checked_player)
]
TableId = Annotated[str, typer.Argument(metavar="TABLE", help="The table's id.")]
EngineName = Annotated[
    str, typer.Argument(metavar="ENGINE", help="The engine's name, as `shards list` shows it.")
]
Invite = Annotated[str, typer.Option(help="The invite code of a private table.")]
Reason = Annotated[str, typer.Option(help="Why; kept for good, with your token's subject.")]

# The variables are those by which services find each other.
LobbyAddress = Annotated[
    str | None,
    typer.Option("--lobby", envvar="OKEY_LOBBY_ADDRESS", help="host:port of a lobby elsewhere."),
]
EngineAddress = Annotated[
    str | None,
    typer.Option(
        "--engine", envvar="OKEY_ENGINE_ADDRESS", help="host:port of an engine elsewhere."
    ),
]
WalletAddress = Annotated[
    str | None,
    typer.Option("--wallet", envvar="OKEY_WALLET_ADDRESS", help="host:port of a wallet elsewhere."),
]
RatingAddress = Annotated[
    str | None,
    typer.Option(
        "--rating",
        envvar="OKEY_RATING_ADDRESS",
        help="host:port of a rating service elsewhere.",
    ),
]
BotsAddress = Annotated[
    str | None,
    typer.Option("--bots", envvar="OKEY_BOTS_ADDRESS", help="host:port of a bot worker elsewhere."),
]
