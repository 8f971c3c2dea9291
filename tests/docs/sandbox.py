"""A folder in which the commands of a page run as a reader would run them in the repository."""

import asyncio
import os
import re
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from services.okeyctl.demo.platform import StartedPlatform
from services.standalone.shape import CLUSTER, SINGLE, Shape
from tests.docs.blocks import ROOT, Block

# What a command may write to is not linked: the data folder, and what is made.
_OWN: Final = {".okey", ".git", "build", "dist"}
_PORT: Final = re.compile(r"\b7[45]\d\d\b")
_MARK: Final = "::block"
_UNTIL_WHOLE: Final = "until .venv/bin/okeyctl doctor > /dev/null; do :; done"
"""A reader comes to a page's next block once what the last one has ended is there again."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a page's commands ended: the output of all, and where it stopped if it failed."""

    output: str
    failed_at: int | None


def lay_out(folder: Path) -> None:
    """Link what the repository holds, so that a command finds it where the page says."""
    for entry in ROOT.iterdir():
        if entry.name not in _OWN:
            (folder / entry.name).symlink_to(entry)


class Sandbox:
    """Runs the blocks of a page in one shell, against a platform on other ports.

    ``placeholders`` stand for what a page leaves to its reader, such as ``<table>``. The platform's
    data folder is where it would be: ``.okey``, or ``.okey/cluster``.
    """

    def __init__(
        self,
        folder: Path,
        platform: StartedPlatform,
        placeholders: Mapping[str, str],
        shape: Shape = SINGLE,
    ) -> None:
        self._folder = folder
        self._placeholders = placeholders
        self._between = _UNTIL_WHOLE if shape is CLUSTER else ":"
        self._ports = real_ports(platform, shape)
        self._environment = environment(platform, shape)
        lay_out(folder)
        data = folder / ".okey"
        if shape is CLUSTER:
            data.mkdir()
            data /= "cluster"
        data.symlink_to(platform.data_dir)

    async def run(self, blocks: Iterable[Block]) -> Ran:
        """Run them in order until one fails; a block for a file is written there first."""
        script = ["set -euo pipefail"]
        for block in blocks:
            if block.file is not None:
                (self._folder / block.file).write_text(self._made_real(block.text), "utf-8")
            elif block.is_run:
                script += [self._between] if len(script) > 1 else []
                script += [f"echo {_MARK} {block.line}", self._made_real(block.text)]
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", "\n".join(script)),
            cwd=self._folder,
            env={**os.environ, **self._environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
        )
        told, _ = await process.communicate()
        output = told.decode(errors="replace")
        lines = re.findall(rf"^{_MARK} (\d+)$", output, re.MULTILINE)
        return Ran(output, int(lines[-1]) if process.returncode else None)

    def _made_real(self, text: str) -> str:
        for placeholder, value in self._placeholders.items():
            text = text.replace(placeholder, value)
        return _PORT.sub(lambda port: self._ports.get(port[0], port[0]), text)


def environment(platform: StartedPlatform, shape: Shape) -> dict[str, str]:
    """What a reader need not set: where the development key is, and, since the examples are not
    rewritten, addresses in place of the ports that they begin with.
    """
    state_home = {"XDG_STATE_HOME": platform.environment_of_callers()["XDG_STATE_HOME"]}
    if shape is CLUSTER:
        return state_home
    services = ("lobby", "engine", "wallet", "rating")
    return state_home | {name.upper(): platform.state.address(name) for name in services}


def real_ports(platform: StartedPlatform, shape: Shape) -> dict[str, str]:
    """The port that a page names -> the one that the platform listens on."""
    processes = platform.state.processes
    return {
        str(shape.first_port + index): processes[name].address.rpartition(":")[2]
        for index, name in enumerate(shape.names)
    }
