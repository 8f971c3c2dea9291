"""``make rollout``: everything is restarted one by one behind Envoy, while people play through it.

Each process is told to end as its pod would be, and the next one's turn comes once it is back and
Envoy takes it for ready. Every command counts once, after three tries at most under the same id,
which is what docs/api.md asks of callers. Status 1 and what failed if one did not.

With ``--before`` every process begins as the release of another clone, which needs a ``.venv`` of
its own, and comes back as this one: the first step of an upgrade (docs/operations.md).
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

import grpc

from okey_client.channels import ENGINE_HEADER
from okey_runtime.channel import open_channel
from okey_runtime.clock import SystemClock
from okey_runtime.identity import Role
from tests.chaos.cluster.faults import DRAINED, Breaker
from tests.chaos.cluster.load import ClusterLoad
from tests.chaos.cluster.stand import WHOLE, ClusterStand, Tempo
from tests.chaos.money.processes import ROOT
from tests.chaos.tables.faults import Fault
from tests.chaos.tables.history import Asked, Outage
from tests.chaos.tables.link import Caller
from tests.chaos.tables.report import Report, Settings
from tests.chaos.tables.run import run, say
from tests.chaos.tables.script import Pace
from tests.deploy.edge import RunningEdge, local_edge, running
from tests.fixtures.postgres import PostgresServer
from tests.fixtures.valkey import Valkey
from tools.manifests.envoy_limits import DEFAULTS

MOST_TRIES: Final = 3
_DRAIN_DELAY_MS: Final = 3_000
"""Envoy looks once a second who is ready."""
_CALM_S: Final = 2.0
_PAIRS: Final = 2
_PACE: Final = Pace(0.5)
_KINDS: Final = ("engine", "lobby", "wallet")
"""Whom Envoy leads to; bots are called by engines alone, ratings are of this process."""


class EdgeStand(ClusterStand):
    """A cluster whose clients know Envoy's address only."""

    edge: RunningEdge

    def by_kind(self) -> dict[str, list[str]]:
        """Addresses of every process behind Envoy."""
        return {
            kind: [self.addresses[part.name] for part in WHOLE.parts if part.kind == kind]
            for kind in _KINDS
        }

    async def seen_by_edge(self) -> None:
        """Return once Envoy takes everybody for ready."""
        await self.edge.sees({kind: len(own) for kind, own in self.by_kind().items()})

    def caller(self, subject: str, role: Role = Role.PLAYER) -> Caller:
        """A way through Envoy; the lobby's calls are not published, and go to the engines."""
        token = self.token(subject, role)
        if role is Role.LOBBY:
            return Caller(self.engine_channel(), token, self._channel_to)
        return Caller(self._channel_to(self.edge.address), token, self._channel_to)

    def lobby_channel(self) -> grpc.aio.Channel:
        """Through Envoy too."""
        return self._channel_to(self.edge.address)

    def engine_channel(self) -> grpc.aio.Channel:
        """For operators and the lobby, whose calls Envoy does not carry."""
        target = self.addresses["engine"]
        if target not in self._by_address:
            self._by_address[target] = open_channel(target)
        return self._by_address[target]

    def _channel_to(self, address: str) -> grpc.aio.Channel:
        """An engine is reached by naming it to Envoy."""
        if address not in self._by_address:
            named = ((ENGINE_HEADER, address),) if address != self.edge.address else ()
            self._by_address[address] = open_channel(self.edge.address, token=lambda: named)
        return self._by_address[address]

    def _special(self, rating_address: str) -> dict[str, dict[str, str]]:
        delay = {"OKEY_DRAIN_DELAY_MS": str(_DRAIN_DELAY_MS)}
        return {name: own | delay for name, own in super()._special(rating_address).items()}


@asynccontextmanager
async def behind_envoy(
    folder: Path, server: PostgresServer, valkey: Valkey, before: Path | None = None
) -> AsyncIterator[EdgeStand]:
    """A cluster of several of each service with a real Envoy before it, until the block ends."""
    stand = EdgeStand(folder, server, valkey, Tempo(), WHOLE)
    stand.before = before
    # Everybody shares one connection, as behind a gateway that calls from outside.
    limits = replace(DEFAULTS, streams_per_connection=1_000)
    async with running(local_edge(stand.by_kind(), limits=limits), folder) as stand.edge:
        try:
            await stand.start()
            await stand.balanced()
            await stand.seen_by_edge()
            yield stand
        finally:
            await stand.stop()


async def roll_out(
    stand: EdgeStand, tables: int, seed: int, calm_s: float = _CALM_S
) -> tuple[Report, list[str]]:
    """Restart every process in turn under load, with a pause after each; the report, and the
    commands that failed.
    """
    settings, clock = Settings(tables, 10.0, 6, seed, 30_000, "rollout"), SystemClock()
    load = ClusterLoad(stand, clock, seed, _PACE, settings.turn_timeout_ms, _PAIRS)
    breaker = Breaker(stand, clock, Random(seed))

    async def restart(fault: Fault) -> list[Outage]:
        stand.services[fault.target].root = ROOT
        outages = await breaker.inflict(fault)
        await stand.seen_by_edge()
        return outages

    report = await run(stand, settings, _PACE, say, _restarts(stand, calm_s), restart, load)
    return report, failed([asked for client in load.clients for asked in client.asked])


def _restarts(stand: EdgeStand, calm_s: float) -> Iterator[Fault]:
    """The wallet first: engines may settle by rules that an older one does not know."""
    names = sorted(stand.NAMES, key=lambda name: not name.startswith("wallet"))
    return (Fault(name, DRAINED, 0.0, calm_s) for name in names)


def failed(asked: list[Asked]) -> list[str]:
    """The commands that three tries did not bring through, and why."""
    return [
        f"{each.kind} needed {len(each.errors) + 1} tries: {each.errors}"
        for each in asked
        if len(each.errors) >= MOST_TRIES
    ]


async def _main(tables: int, seed: int, before: Path | None) -> int:
    with (
        tempfile.TemporaryDirectory(prefix="okey-pg-", dir="/tmp") as data,
        tempfile.TemporaryDirectory(prefix="okey-rollout-") as folder,
    ):
        home = Path(folder)
        server, valkey = PostgresServer(Path(data)), Valkey(home)
        await asyncio.to_thread(server.start)
        await asyncio.to_thread(valkey.start)
        try:
            async with behind_envoy(home, server, valkey, before) as stand:
                report, failures = await roll_out(stand, tables, seed)
        finally:
            await asyncio.to_thread(valkey.kill)
            await asyncio.to_thread(server.stop, "immediate")
    say(f"{report.figures}")
    for line in [*map(str, report.findings), *failures]:
        say(line)
    say(f"{len(failures)} commands failed, {len(report.findings)} findings")
    return 1 if failures or report.findings else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--before", type=Path, help="the clone of the release before")
    options = parser.parse_args()
    sys.exit(asyncio.run(_main(options.tables, options.seed, options.before)))
