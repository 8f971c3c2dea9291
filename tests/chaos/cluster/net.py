"""One engine cut off from its database in one direction, in a network namespace of our own.

Each engine finds the database at a loopback address of its own, so that packets to or from that
address are dropped and nothing else is: clients and other services reach the engine all the while.
Dropped packets are what a partition is to both ends: no answer and no refusal.
"""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from enum import StrEnum
from typing import Final, NoReturn

from tests.chaos.cluster.tools import NETNS, require_tools

_TABLE: Final = ("inet", "okey_chaos")


class Direction(StrEnum):
    """Which way packets are lost."""

    TO = "to the database"
    FROM = "from the database"


class Partition:
    """Cuts and heals; ``port`` is the database's."""

    def __init__(self, port: int) -> None:
        assert NETNS in os.environ, "only a network of our own is broken"
        self._port = port

    @staticmethod
    async def loopback() -> None:
        """Bring loopback up: a new network has nothing."""
        await _run("ip", "link", "set", "lo", "up")

    async def prepare(self) -> None:
        """Make a place for rules."""
        await _run("nft", "add", "table", *_TABLE)
        hook = "{ type filter hook output priority 0 ; policy accept ; }"
        await _run("nft", "add", "chain", *_TABLE, "out", hook)

    async def cut(self, host: str, direction: Direction) -> None:
        """Drop what goes that way between the database at ``host`` and whoever uses it there."""
        ends = ("daddr", "dport") if direction is Direction.TO else ("saddr", "sport")
        match = ("ip", ends[0], host, "tcp", ends[1], str(self._port))
        await _run("nft", "add", "rule", *_TABLE, "out", *match, "drop")

    async def heal(self) -> None:
        """Drop nothing more."""
        await _run("nft", "flush", "chain", *_TABLE, "out")


async def _run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    _, error = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {error.decode().strip()}")


def enter_own_network(module: str) -> None:
    """Return where we are in a network namespace of our own; else become ``python -m module`` with
    the same arguments in a new one. It vanishes with the last process in it.

    Raises:
        ToolsMissing: that cannot be done here.
    """
    if NETNS in os.environ:
        return
    require_tools()
    _become(module)


def _become(module: str) -> NoReturn:
    command = ["unshare", "--net", "--", sys.executable, "-m", module, *sys.argv[1:]]
    os.execvpe(command[0], command, {**os.environ, NETNS: "1"})
