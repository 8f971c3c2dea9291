"""How commands end: their exit status, and one line for what a person can put right."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import grpc
import typer
from rich.console import Console

from okey.errors import OkeyError
from okey_runtime.dev_platform import PlatformNotRunning
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.keys import KeyFileBroken
from okey_runtime.service_token import ServiceTokenMissing
from okey_runtime.tls import CertificateBroken, PlaintextRefused
from services.okeyctl.anchors import AnchorFileBroken
from services.okeyctl.reach import TokenFileMissing, TokenUnreadable

FINDINGS: Final = 1
"""Exit status of a command that worked and found something wrong."""
UNUSABLE: Final = 2
"""Exit status of a command that could not do what it was asked."""

_KNOWN: Final = (
    PlatformNotRunning,
    TokenFileMissing,
    TokenUnreadable,
    ServiceTokenMissing,
    KeyFileBroken,
    CertificateBroken,
    PlaintextRefused,
    AnchorFileBroken,
    RpcFailure,
    OkeyError,
)


class Output(Console):
    """Standard output for a person; a reader that goes away is no finding."""

    def on_broken_pipe(self) -> None:
        """Leave it to ``failures``."""
        raise BrokenPipeError


@contextmanager
def refusals() -> Iterator[None]:
    """What a person can put right ends the command with one line and status 2."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        refuse(str(from_rpc_error(error)))
    except _KNOWN as error:
        refuse(str(error))


@contextmanager
def failures() -> Iterator[None]:
    """A file or an output that fails ends the command with one line and status 2, whatever its
    status would have been; a reader that has gone away ends it without a line.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        _drop_unwritten()
        sys.exit(UNUSABLE)
    except OSError as error:
        _drop_unwritten()
        refuse(str(error) or type(error).__name__)


def _drop_unwritten() -> None:
    """What standard output does not take would fail again when the interpreter ends."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def refuse(why: str) -> NoReturn:
    """End the command with one line and status 2."""
    typer.echo(f"okeyctl: {why}", err=True)
    sys.exit(UNUSABLE)
