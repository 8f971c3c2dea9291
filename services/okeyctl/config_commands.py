"""``okeyctl config``: whether a service could start with the settings that are here."""

import subprocess
import sys
from enum import StrEnum
from typing import Annotated

import typer

from okey_runtime.environment import CHECK_FLAG
from services.okeyctl.ending import refuse

app = typer.Typer(
    help="Check the settings of a service.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Service(StrEnum):
    """What has settings of its own."""

    LOBBY = "lobby"
    ENGINE = "engine"
    WALLET = "wallet"
    RATING = "rating"
    BOTS = "bots"
    GATEWAY = "gateway"


@app.callback()
def group() -> None:
    """Check the settings of a service: OKEY_* variables and files of secrets."""


@app.command()
def check(
    service: Annotated[Service, typer.Argument(metavar="SERVICE", help="Which one would start.")],
) -> None:
    """Say whether a service would start with what is set here.

    Prints every setting as JSON, but no secret. Nothing is started or opened. Status 2 if the
    service would refuse the environment; each variable that it minds is named.
    """
    command = [sys.executable, "-m", f"services.{service.value}", CHECK_FLAG]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        refuse(f"{service.value} would not start:\n{done.stderr.strip() or done.stdout.strip()}")
    print(done.stdout, end="")
