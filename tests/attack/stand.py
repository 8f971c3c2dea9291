"""What is attacked: a cluster as ``make cluster`` starts it, and Envoy as ``make edge`` does."""

import asyncio
import json
import os
import shutil
import sys
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from okey_runtime.identity import Role
from services.okeyctl.demo.platform import PlatformDidNotStart, StartedPlatform
from services.standalone.postgres import home_of
from services.standalone.shape import POSTGRES
from tests.attack.gauge import Watched
from tests.attack.raid import Aim
from tests.fixtures.valkey import free_port

ENVOY: Final = "envoy"
_TIED: Final = Path(__file__).parents[2] / "services" / "standalone" / "tied.py"
_LOOK_EVERY_S: Final = 0.2
_ATTACKERS: Final = 10
_READY_S: Final = 60.0
_START_TRIES: Final = 3
_CLOCK_FACTOR: Final = 20
"""So that the pause between rounds is no gap of 5 s in what a window sees of the players."""


@dataclass(frozen=True, slots=True)
class Stand:
    """The cluster and its edge, which run."""

    platform: StartedPlatform
    envoy: asyncio.subprocess.Process
    edge: str
    folder: Path

    def watched(self) -> Mapping[str, Watched]:
        """Every process that is a victim, by name."""
        logs = self.platform.data_dir / "log"
        found = {
            name: Watched(own.pid, logs / f"{name}.log", has_children=own.kind == POSTGRES)
            for name, own in self.platform.state.processes.items()
        }
        return found | {ENVOY: Watched(self.envoy.pid, self.folder / "envoy.log")}

    def aim(self, seconds: float, tables: list[str]) -> Aim:
        """What an attacker is given: one process of each service."""
        state = self.platform.state
        names = [f"mallory-{number}" for number in range(_ATTACKERS)]
        kinds = ("engine", "lobby", "wallet", "rating", "bots")
        key = json.loads(state.key_file.read_text())
        return Aim(
            services={kind: next(iter(state.addresses(kind).values())) for kind in kinds},
            edge=self.edge,
            gateway=self.page.removeprefix("http://").rstrip("/"),
            players=[self.platform.token(name) for name in names],
            player_ids=names,
            integrator=self.platform.token("other-team", [Role.INTEGRATOR]),
            tables=tables,
            kid=str(key.get("kid", "")),
            seconds=seconds,
        )

    @property
    def page(self) -> str:
        """The gateway's address, for browsers."""
        return next(
            each.page_url for each in self.platform.state.processes.values() if each.page_url
        )


@asynccontextmanager
async def standing(folder: Path, *, is_cluster: bool = True) -> AsyncIterator[Stand]:
    """Everything started and ready, until the block ends; nothing of it is left."""
    async with _started(folder, is_cluster=is_cluster) as platform:
        port = free_port()
        with (folder / "envoy.log").open("wb") as log:
            envoy = await asyncio.create_subprocess_exec(
                # Tied to us, so that none is left behind however we end.
                *(sys.executable, "-I", "-S", str(_TIED), str(os.getpid()), "-"),
                *(sys.executable, "-m", "tools.edge", "--data-dir", str(platform.data_dir)),
                *("--port", str(port)),
                env={**os.environ, **platform.environment_of_callers()},
                stdout=log,
                stderr=log,
            )
        try:
            async with asyncio.timeout(_READY_S):
                while not await asyncio.to_thread(_sees_all, port + 1, platform):
                    assert envoy.returncode is None, (folder / "envoy.log").read_text()
                    await asyncio.sleep(_LOOK_EVERY_S)
            yield Stand(platform, envoy, f"127.0.0.1:{port}", folder)
        finally:
            if envoy.returncode is None:
                envoy.kill()
                await envoy.wait()


@asynccontextmanager
async def _started(folder: Path, *, is_cluster: bool) -> AsyncIterator[StartedPlatform]:
    """The platform, tried again where a busy machine has not started it in time."""
    platform = StartedPlatform(folder, _CLOCK_FACTOR, is_cluster=is_cluster)
    try:
        for tries_left in reversed(range(_START_TRIES)):
            try:
                await platform.start()
            except PlatformDidNotStart:
                if not tries_left:
                    raise
            else:
                break
        try:
            yield platform
        finally:
            await platform.stop()
    finally:
        # Root's database lies elsewhere than its data folder.
        shutil.rmtree(home_of(platform.data_dir.absolute()), ignore_errors=True)


def _sees_all(port: int, platform: StartedPlatform) -> bool:
    """Whether Envoy takes every engine for ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as page:
            metrics = page.read().decode()
    except OSError:
        return False
    wanted = 'envoy_cluster_membership_healthy{envoy_cluster_name="engine"}'
    healthy = [line for line in metrics.splitlines() if line.startswith(wanted)]
    count = len(platform.state.addresses("engine"))
    return any(float(line.rpartition(" ")[2]) >= count for line in healthy)
