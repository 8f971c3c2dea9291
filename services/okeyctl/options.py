"""Options that many commands have."""

from pathlib import Path
from typing import Annotated

import typer

from okey_runtime.dev_platform import DATA_DIR_VARIABLE

DataDir = Annotated[
    Path, typer.Option(envvar=DATA_DIR_VARIABLE, help="The data folder of a standalone platform.")
]
TokenFile = Annotated[Path | None, typer.Option(help="An operator's token, with an address.")]
EngineAddress = Annotated[str | None, typer.Option("--engine", help="host:port of an engine.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]
AsJsonLines = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Invite = Annotated[str, typer.Option(help="The invite code of a private table.")]
WalletAddress = Annotated[str | None, typer.Option("--wallet", help="host:port of a wallet.")]
RatingAddress = Annotated[
    str | None, typer.Option("--rating", help="host:port of a rating service.")
]
LobbyAddress = Annotated[str | None, typer.Option("--lobby", help="host:port of a lobby.")]
