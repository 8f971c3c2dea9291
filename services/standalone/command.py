"""The command: its options, and what a person is told where it cannot run."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from okey_runtime.dev_platform import DATA_DIR_VARIABLE, DEFAULT_DATA_DIR
from okey_runtime.keys import KeyFileBroken
from services.standalone.app import DataFolderInUse, DataFolderUnusable, Options, run_platform
from services.standalone.child import ChildEnded, ChildNotReady
from services.standalone.plan import ValkeyMissing
from services.standalone.ports import PortTaken

_KNOWN: Final = (
    DataFolderInUse,
    PortTaken,
    ValkeyMissing,
    ChildEnded,
    ChildNotReady,
    KeyFileBroken,
)
UNUSABLE: Final = 2
"""Exit status where an option names what cannot be used."""


def run(
    data_dir: Annotated[
        Path, typer.Option(envvar=DATA_DIR_VARIABLE, help="Where databases and logs are kept.")
    ] = DEFAULT_DATA_DIR,
    free_ports: Annotated[
        bool, typer.Option("--free-ports", help="Any free ports instead of 7401 and up.")
    ] = False,
    stop_with_stdin: Annotated[
        bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends, too.")
    ] = False,
) -> None:
    """Run every Okey service as a process of its own on this machine, for development."""
    try:
        options = Options(data_dir.absolute(), free_ports, stop_with_stdin)
        asyncio.run(run_platform(options, _say))
    except DataFolderUnusable as error:
        typer.echo(f"standalone: {error}", err=True)
        sys.exit(UNUSABLE)
    except _KNOWN as error:
        typer.echo(f"standalone: {error}", err=True)
        sys.exit(1)


def _say(text: str) -> None:
    typer.echo(text)
    sys.stdout.flush()


def main() -> None:
    """Take the options from the command line."""
    # Typer's Rich help shows flags as if they took a value.
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(run)
    app()
