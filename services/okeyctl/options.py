"""Options that many commands have."""

from pathlib import Path
from typing import Annotated

import typer

from okey_runtime.dev_platform import DATA_DIR_VARIABLE

DataDir = Annotated[
    Path, typer.Option(envvar=DATA_DIR_VARIABLE, help="The data folder of a standalone platform.")
]
TokenFile = Annotated[
    Path | None,
    typer.Option(envvar="OKEY_OPERATOR_TOKEN_FILE", help="An operator's token, with an address."),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]
AsJsonLines = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Invite = Annotated[str, typer.Option(help="The invite code of a private table.")]

# The variables are those by which services find each other.
EngineAddress = Annotated[
    str | None,
    typer.Option("--engine", envvar="OKEY_ENGINE_ADDRESS", help="host:port of an engine."),
]
WalletAddress = Annotated[
    str | None,
    typer.Option("--wallet", envvar="OKEY_WALLET_ADDRESS", help="host:port of a wallet."),
]
RatingAddress = Annotated[
    str | None,
    typer.Option("--rating", envvar="OKEY_RATING_ADDRESS", help="host:port of a rating service."),
]
LobbyAddress = Annotated[
    str | None,
    typer.Option("--lobby", envvar="OKEY_LOBBY_ADDRESS", help="host:port of a lobby."),
]
BotsAddress = Annotated[
    str | None,
    typer.Option("--bots", envvar="OKEY_BOTS_ADDRESS", help="host:port of a bot worker."),
]
