"""The command: its options, and what a person is told where it cannot run."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from okey_runtime.dev_platform import DATA_DIR_VARIABLE, DEFAULT_DATA_DIR
from okey_runtime.keys import KeyFileBroken
from services.standalone.app import DataFolderInUse, DataFolderUnusable, Options, run_platform
from services.standalone.child import ChildEnded, ChildNotReady
from services.standalone.plan import ValkeyMissing
from services.standalone.ports import PortTaken
from services.standalone.postgres import PostgresFailed, PostgresMissing
from services.standalone.shape import CLUSTER, SINGLE
from services.standalone.view import Screen

_KNOWN: Final = (
    DataFolderInUse,
    PortTaken,
    ValkeyMissing,
    PostgresMissing,
    PostgresFailed,
    ChildEnded,
    ChildNotReady,
    KeyFileBroken,
)
CLUSTER_FOLDER: Final = "cluster"
UNUSABLE: Final = 2
"""Exit status where an option names what cannot be used."""


def run(
    data_dir: Annotated[
        Path | None,
        typer.Option(
            envvar=DATA_DIR_VARIABLE,
            help=f"Where databases and logs are kept; else {DEFAULT_DATA_DIR}, "
            f"{DEFAULT_DATA_DIR / CLUSTER_FOLDER} for a cluster.",
        ),
    ] = None,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Several of each service, on one PostgreSQL.")
    ] = False,
    free_ports: Annotated[
        bool, typer.Option("--free-ports", help="Any free ports instead of 7400 or 7500 and up.")
    ] = False,
    stop_with_stdin: Annotated[
        bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends, too.")
    ] = False,
) -> None:
    """Run every Okey service as processes on this machine, for development."""
    shape = CLUSTER if cluster else SINGLE
    folder = data_dir or (DEFAULT_DATA_DIR / CLUSTER_FOLDER if cluster else DEFAULT_DATA_DIR)
    options = Options(shape, folder.absolute(), free_ports, stop_with_stdin)
    try:
        with Screen(Console(), has_table=cluster) as screen:
            asyncio.run(run_platform(options, screen))
    except DataFolderUnusable as error:
        typer.echo(f"standalone: {error}", err=True)
        sys.exit(UNUSABLE)
    except _KNOWN as error:
        typer.echo(f"standalone: {error}", err=True)
        sys.exit(1)


def main() -> None:
    """Take the options from the command line."""
    # Typer's Rich help shows flags as if they took a value.
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(run)
    app()
