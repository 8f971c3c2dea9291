"""Keeps the children running: starts them, starts again what has died, stops all in order."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from okey_runtime.clock import Clock
from okey_runtime.dev_platform import DevPlatform, RunningProcess
from services.standalone.child import Child, ChildEnded, ChildNotReady, told
from services.standalone.plan import ChildPlan

READY_TIMEOUT_S: Final = 60.0
BACKOFF_FIRST_MS: Final = 100
BACKOFF_LAST_MS: Final = 5_000
_STABLE_MS: Final = 30_000

Say = Callable[[str], None]
"""Tells the person at the terminal one thing."""


@dataclass(slots=True)
class Life:
    """What became of one child so far: whether its newest start took work, how often it was started
    again, and how and when (monotonic) it last ended ("" and 0 while it never did).
    """

    is_ready: bool = False
    restarts: int = 0
    last_end: str = ""
    ended_ms: int = 0


class Supervisor:
    """The children of one platform; ``say`` hears what happens to them."""

    def __init__(
        self, plans: Sequence[ChildPlan], data_dir: Path, key_file: Path, clock: Clock, say: Say
    ) -> None:
        logs = data_dir / "log"
        logs.mkdir(parents=True, exist_ok=True)
        self.children: Final = [Child(plan, logs / f"{plan.name}.log") for plan in plans]
        self._data_dir = data_dir
        self._key_file = key_file
        self._clock = clock
        self._say = say
        self.lives: Final = {plan.name: Life() for plan in plans}
        self._keepers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start every child, stores before those that connect to them; return once all are ready.

        Raises:
            ChildEnded, ChildNotReady: one of them could not; the others still run: call ``stop``.
        """
        stores = [child for child in self.children if child.plan.is_store]
        services = [child for child in self.children if not child.plan.is_store]
        for stage in (stores, services):
            for child in stage:
                await child.start()
            self._save()
            await asyncio.gather(*(self._become_ready(child) for child in stage))
        self._keepers = [asyncio.create_task(self._keep(child)) for child in self.children]

    async def stop(self) -> None:
        """Stop every child, one after another in their order."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        for child in self.children:
            await child.stop()
        DevPlatform.remove(self._data_dir)

    async def failed(self) -> None:
        """Return never, or raise what has kept a child from being looked after."""
        await asyncio.gather(*self._keepers)

    async def _keep(self, child: Child) -> None:
        backoff_ms = BACKOFF_FIRST_MS
        while True:
            started_ms = self._clock.monotonic_ms()
            status = await child.wait()
            life = self.lives[child.plan.name]
            life.is_ready = False
            life.last_end, life.ended_ms = told(status), self._clock.monotonic_ms()
            self._save()
            if self._clock.monotonic_ms() - started_ms > _STABLE_MS:
                backoff_ms = BACKOFF_FIRST_MS
            self._say(f"{child.plan.name} {told(status)}; it starts again in {backoff_ms} ms")
            await self._clock.sleep_until_ms(self._clock.monotonic_ms() + backoff_ms)
            backoff_ms = min(2 * backoff_ms, BACKOFF_LAST_MS)
            await child.start()
            life.restarts += 1
            self._save()
            try:
                await self._become_ready(child)
            except (ChildEnded, ChildNotReady) as error:
                self._say(str(error))
            else:
                self._say(f"{child.plan.name} is back")

    async def _become_ready(self, child: Child) -> None:
        await child.become_ready(READY_TIMEOUT_S)
        self.lives[child.plan.name].is_ready = True
        self._save()

    def _save(self) -> None:
        processes = {
            child.plan.name: RunningProcess(
                kind=child.plan.kind,
                pid=child.pid,
                is_ready=self.lives[child.plan.name].is_ready,
                address=child.plan.ports.address,
                metrics_address="" if child.plan.is_store else child.plan.ports.metrics_address,
                page_url=child.plan.ports.page_url,
            )
            for child in self.children
        }
        platform = DevPlatform(pid=os.getpid(), key_file=self._key_file, processes=processes)
        platform.save(self._data_dir)
