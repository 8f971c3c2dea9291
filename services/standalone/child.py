"""One child process: started tied to us, asked for its health, stopped in peace or by force."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from pathlib import Path
from typing import Final

from services.standalone.health import is_serving
from services.standalone.plan import ChildPlan

STOP_TIMEOUT_S: Final = 8.0
_PROBE_EVERY_S: Final = 0.05
_TIED: Final = Path(__file__).with_name("tied.py")
_LAST_LINES: Final = 8
_SHOWN_CHARS: Final = 400


class ChildEnded(Exception):
    """A child ended before it was ready; the message has the last lines of its log."""


class ChildNotReady(Exception):
    """A child runs and does not get ready in time."""


class Child:
    """A planned process; its output goes to ``log_file``, which is begun anew with the platform."""

    def __init__(self, plan: ChildPlan, log_file: Path) -> None:
        self.plan: Final = plan
        self._log_file = log_file
        self._process: Process | None = None
        log_file.write_bytes(b"")

    @property
    def pid(self) -> int:
        """The process id of its newest start; 0 before the first."""
        return self._process.pid if self._process is not None else 0

    @property
    def is_running(self) -> bool:
        """Whether its newest start has not ended."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start it; it dies with us."""
        with self._log_file.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_TIED), str(os.getpid())),
                *("-" if self.plan.user_id is None else str(self.plan.user_id), *self.plan.command),
                cwd="/" if self.plan.user_id is not None else None,
                env=dict(self.plan.environment),
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C at a terminal goes to its whole group; we stop the children, in order.
                start_new_session=True,
            )

    async def wait(self) -> int:
        """Its exit status, once it has ended; negative for the signal that ended it."""
        assert self._process is not None, "started before it is waited for"
        return await self._process.wait()

    async def become_ready(self, timeout_s: float) -> None:
        """Return once it serves.

        Raises:
            ChildEnded: it ended instead.
            ChildNotReady: neither happened in time.
        """
        ended = asyncio.create_task(self.wait())
        try:
            async with asyncio.timeout(timeout_s):
                while not await is_serving(self.plan):
                    if ended.done():
                        raise ChildEnded(
                            f"{self.plan.name} {told(ended.result())} before it was ready; "
                            f"the end of {self._log_file}:\n{self._last_lines()}"
                        )
                    await asyncio.sleep(_PROBE_EVERY_S)
        except TimeoutError as error:
            raise ChildNotReady(
                f"{self.plan.name} is not ready after {timeout_s:.0f} s; "
                f"the end of {self._log_file}:\n{self._last_lines()}"
            ) from error
        finally:
            ended.cancel()

    async def stop(self) -> None:
        """Ask it to end; kill it if it does not in time."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(self.plan.stop_signal)
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def _last_lines(self) -> str:
        lines = self._log_file.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        return "\n".join(f"  {line[:_SHOWN_CHARS]}" for line in lines) or "  (nothing)"


def told(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was ended by {signal.Signals(-status).name}"
