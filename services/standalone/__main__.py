"""Run the platform on this machine: ``python -m services.standalone``."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer
from okey_runtime.dev_platform import DATA_DIR_VARIABLE, DEFAULT_DATA_DIR
from okey_runtime.keys import KeyFileBroken

from services.standalone.app import DataFolderInUse, Options, run_platform
from services.standalone.child import ChildEnded, ChildNotReady
from services.standalone.plan import ValkeyMissing
from services.standalone.ports import PortTaken

_KNOWN = (
    DataFolderInUse,
    PortTaken,
    ValkeyMissing,
    ChildEnded,
    ChildNotReady,
    KeyFileBroken,
)


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
    except _KNOWN as error:
        typer.echo(f"standalone: {error}", err=True)
        sys.exit(1)


def _say(text: str) -> None:
    typer.echo(text)
    sys.stdout.flush()


if __name__ == "__main__":
    typer.run(run)
