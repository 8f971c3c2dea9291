"""The platform of a run: engine, wallet and bots as processes on a real PostgreSQL."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Final

import grpc

from okey_runtime.channel import open_channel
from okey_runtime.clock import Clock
from okey_runtime.identity import Role
from tests.chaos.money.stand import Stand
from tests.chaos.tables.freezes import read_freezes
from tests.chaos.tables.history import ENGINE, Outage
from tests.chaos.tables.link import Caller
from tests.fixtures.postgres import PostgresServer

_CHANNELS: Final = 8
_LOOK_MS: Final = 500
_AUDIT_TIMEOUT_S: Final = 120.0


class TablesStand(Stand):
    """Engine, wallet and bots; rating in this process."""

    NAMES: tuple[str, ...] = ("engine", "wallet", "bots")

    def __init__(
        self,
        folder: Path,
        server: PostgresServer,
        clock_factor: int,
        bot_pace_ms: int,
        stall_ms: int,
        issuer_clock: Clock | None = None,
    ) -> None:
        super().__init__(folder, server, Random(0), armed_share=0.0, issuer_clock=issuer_clock)
        self._clock_factor = clock_factor
        self._bot_pace_ms = bot_pace_ms
        self._stall_ms = stall_ms
        self._channels: list[grpc.aio.Channel] = []
        self._by_address: dict[str, grpc.aio.Channel] = {}
        self._callers = 0
        self.first_owners: dict[str, str] = {}
        """By table, the engine at which it was opened, where there are several."""

    @property
    def unnoticed_ms(self) -> int:
        """How long a pause may be taken for slow answers: the engine's setting, and the time until
        it looks again.
        """
        return self._stall_ms + _LOOK_MS

    def caller(self, subject: str, role: Role = Role.PLAYER) -> Caller:
        """A way to the engine for one subject, over channels that everybody shares."""
        if len(self._channels) < _CHANNELS:
            self._channels.append(open_channel(self.addresses["engine"]))
        self._callers += 1
        channel = self._channels[self._callers % len(self._channels)]
        return Caller(channel, self.token(subject, role), self._channel_to)

    def _channel_to(self, address: str) -> grpc.aio.Channel:
        if address not in self._by_address:
            self._by_address[address] = open_channel(address)
        return self._by_address[address]

    def freezes(self) -> list[Outage]:
        """When the clocks of each engine stood, by its own log."""
        engines = [service for service in self.services.values() if service.kind == ENGINE]
        return [each for own in engines for each in read_freezes(own.name, own.log)]

    async def audit(self) -> tuple[int, str]:
        """``okeyctl audit``: its exit status and what it printed; -9 where it did not end."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "services.okeyctl.main", "audit", "--json"),
            *("--wallet", self.addresses["wallet"]),
            *("--token-file", str(self.token_dir(Role.OPERATOR))),
            stdout=PIPE,
            stderr=PIPE,
        )
        ending = asyncio.create_task(process.communicate())
        await asyncio.wait([ending], timeout=_AUDIT_TIMEOUT_S)
        if not ending.done():
            process.kill()
        out, error = await ending
        assert process.returncode is not None
        return process.returncode, (out + error).decode()

    async def stop(self) -> None:
        every = [*self._channels, *self._by_address.values()]
        await asyncio.gather(*(channel.close() for channel in every))
        await super().stop()

    def _special(self, rating_address: str) -> dict[str, dict[str, str]]:
        special = super()._special(rating_address)
        special["engine"] |= {
            "OKEY_BOTS_ADDRESS": self.addresses["bots"],
            "OKEY_BOT_PACE_MS": str(self._bot_pace_ms),
            "OKEY_CLOCK_FACTOR": str(self._clock_factor),
            "OKEY_STALL_MS": str(self._stall_ms),
            "OKEY_LOG_LEVEL": "INFO",  # which tells when a freeze ended
        }
        special["wallet"] |= {
            "OKEY_ENGINE_ADDRESS": self.addresses["engine"],
            "OKEY_SERVICE_TOKEN_DIR": str(self.token_dir(Role.WALLET)),
        }
        return special | {"bots": {}}


@asynccontextmanager
async def standing(
    folder: Path,
    server: PostgresServer,
    *,
    clock_factor: int = 1,
    bot_pace_ms: int = 1_200,
    stall_ms: int = 2_000,
) -> AsyncIterator[TablesStand]:
    """A stand that runs until the block ends; the defaults are those of the engine."""
    stand = TablesStand(folder, server, clock_factor, bot_pace_ms, stall_ms)
    try:
        await stand.start()
        yield stand
    finally:
        await stand.stop()
