"""How commands end: their exit status, and one line for what a person can put right."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import grpc
import typer

from okey.errors import OkeyError
from okey_runtime.dev_platform import PlatformNotRunning
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.keys import KeyFileBroken
from okey_runtime.service_token import ServiceTokenMissing
from services.okeyctl.anchors import AnchorFileBroken
from services.okeyctl.reach import TokenFileMissing

FINDINGS: Final = 1
"""Exit status of a command that worked and found something wrong."""
UNUSABLE: Final = 2
"""Exit status of a command that could not do what it was asked."""

_KNOWN: Final = (
    PlatformNotRunning,
    TokenFileMissing,
    ServiceTokenMissing,
    KeyFileBroken,
    AnchorFileBroken,
    RpcFailure,
    OkeyError,
)


@contextmanager
def refusals() -> Iterator[None]:
    """What a person can put right ends the command with one line and status 2."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        refuse(str(from_rpc_error(error)))
    except _KNOWN as error:
        refuse(str(error))


def refuse(why: str) -> NoReturn:
    """End the command with one line and status 2."""
    typer.echo(f"okeyctl: {why}", err=True)
    sys.exit(UNUSABLE)
