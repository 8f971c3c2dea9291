"""Engine, wallet and rating as simulated processes: the real apps, started as in production.

Only what the three ``app`` modules take from outside is replaced: databases, channels, and the
host that serves them. Whatever crashes starts again on what its database holds.
"""

import asyncio
import os
import random
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from random import Random
from types import ModuleType
from typing import Any, Final, cast
from unittest.mock import patch

from pydantic import SecretStr
from structlog.typing import EventDict

from okey_runtime.config import Environment
from okey_runtime.identity import Role
from okey_runtime.readiness import Readiness
from okey_runtime.revocation import Revocations
from okey_runtime.server import App, ServiceServer
from okey_runtime.status import Status
from services.engine import app as engine_app
from services.engine.caught import Caught
from services.engine.settings import EngineSettings
from services.rating import app as rating_app
from services.rating.settings import RatingSettings
from services.wallet import app as wallet_app
from tests.chaos.tables.history import ENGINE, KILLED, PAUSED, Outage
from tests.simulation.bots import serve_bots
from tests.simulation.channel import Channel
from tests.simulation.clock import SimulatedClock
from tests.simulation.logs import heard_logs
from tests.simulation.loop import Process, SimulatedLoop, current
from tests.simulation.network import Network, Server, call_interceptor, token_of
from tests.simulation.storage import Disk, SimulatedDatabase
from tests.simulation.trace import Trace
from tests.simulation.weather import Strike, Weather

WELCOME_CHIPS: Final = 1_000
_ENGINES: Final = (1, 2, 3)
_SKEW_MS: Final = 60_000
"""By so much a machine's clock may be wrong."""
_DRAIN_S: Final = 20.0
_GRACE_S: Final = 5.0
_ABOUT_OUTAGES: Final = frozenset({"audit_failed"})
"""Errors in a log that are no more than what the simulation did to a database."""


class Tokens:
    """What an app has instead of its own tokens."""

    def to(self, callee: str) -> str:
        """As ``OwnTokens.to``."""
        return callee


class Host:
    """What an app is started on instead of ``ServiceServer``."""

    def __init__(self, service: "Service", app: App) -> None:
        self.clock: Final = service.clock
        self.settings: Final = app.settings
        self.revocations: Final = Revocations(self.clock)
        self.address: Final = service.name
        self.readiness: Final = Readiness(app.services)
        self.status: Final = Status(service.name, self.clock, self.readiness)
        self.grpc: Final = Server(current(), call_interceptor(app.access, self.clock))
        self.is_serving = False
        self.has_started: Final = asyncio.Event()
        self._service = service
        self._app = app
        self._tasks: list[asyncio.Task[None]] = []

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """As ``ServiceServer.spawn``; nothing in a simulation is a reason to fail."""
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._on_done)
        self._tasks.append(task)
        return task

    @property
    def tokens(self) -> Tokens:
        """As ``ServiceServer.tokens``: nobody looks at them, only whether there is one."""
        return Tokens()

    def dial(self, address: str, token: object = None, *_: object, **__: object) -> Channel:
        """As ``ServiceServer.dial``; the caller is known by its own name."""
        caller = current().name
        bearer = token_of(Role(caller.partition("-")[0]), caller)
        own = (("authorization", f"Bearer {bearer}"),) if token is not None else ()
        return Channel(self._service.platform.network, address, own)

    async def stop(self) -> None:
        """As ``ServiceServer.stop``: hand over, end what is left, close."""
        await self.readiness.stopping()
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_S):
                await self._app.drain()
        await self.grpc.stop(_GRACE_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._app.close()

    def end(self) -> None:
        """Nobody asks a simulated service to end."""

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            text = f"{task.get_name()} of {self.address} failed: {told(task.exception())}"
            self._service.platform.fail(text)


class Service:
    """One service: it has a process while it lives."""

    def __init__(
        self, platform: "Platform", name: str, make: Callable[[str], App], skew_ms: int = 0
    ) -> None:
        self.platform: Final = platform
        self.name: Final = name
        self.clock: Final = SimulatedClock(platform.loop, skew_ms)
        self.process: Process | None = None
        self._host: Host | None = None
        self._make = make
        self._since_ms = 0

    def boot(self) -> None:
        """Start it."""
        platform = self.platform
        if self._since_ms:
            self._note_outage(KILLED, self._since_ms)
        self.process = platform.loop.start(self.name, self._serve)

    async def _serve(self) -> None:
        app = self._make(self.name)
        self._host = host = Host(self, app)
        with Caught() as caught:
            await app.start(cast("ServiceServer", host))
        if caught.error is not None:
            self.platform.fail(f"{self.name} does not start: {told(caught.error)}")
            return
        host.grpc.is_open = host.is_serving = True
        host.has_started.set()
        self.platform.network.listen(self.name, host.grpc)
        await host.readiness.started()

    def stop(self, for_s: float) -> None:
        """It is asked to end, does so, and comes back after so long."""
        process, host, loop = self.process, self._host, self.platform.loop
        if process is None or host is None or not host.is_serving:
            return
        self.platform.trace.event(f"{self.name} is asked to end")
        host.is_serving = False

        async def end() -> None:
            await host.stop()
            # What is left of it goes with its process, and not before this is over.
            self.platform.later(0.0, lambda: self._ended(process, for_s))

        process.context.run(lambda: loop.create_task(end()))

    def _ended(self, process: Process, for_s: float) -> None:
        if self.process is process:
            self.kill(for_s)

    def kill(self, for_s: float) -> None:
        """It is gone, and comes back after so long."""
        process, platform = self.process, self.platform
        if process is None:
            return
        platform.trace.event(f"{self.name} is killed for {for_s:.3f} s")
        self.process, self._since_ms = None, platform.clock.now_ms()
        platform.loop.kill(process)
        platform.network.hang_up(process)
        platform.later(for_s, self.boot)

    def pause(self, for_s: float) -> None:
        """It does not run for so long; what comes meanwhile waits."""
        process, platform = self.process, self.platform
        if process is None or process.is_paused:
            return
        platform.trace.event(f"{self.name} is paused for {for_s:.3f} s")
        process.is_paused = True
        since_ms = platform.clock.now_ms()

        def go_on() -> None:
            process.is_paused = False
            if process.is_alive:
                self._note_outage(PAUSED, since_ms)

        platform.later(for_s, go_on)

    def _note_outage(self, kind: str, since_ms: int) -> None:
        """Only an engine's stop clocks."""
        if self.name.startswith(ENGINE):
            until_ms = self.platform.clock.now_ms()
            self.platform.outages.append(Outage(self.name, kind, since_ms, until_ms))


class Platform:
    """All services of a run, their databases, and what befalls them."""

    def __init__(self, loop: SimulatedLoop, weather: Weather, chance: Random, trace: Trace) -> None:
        self.loop: Final = loop
        self.weather: Final = weather
        self.trace: Final = trace
        self.clock: Final = SimulatedClock(loop)
        self.network: Final = Network(loop, weather, trace)
        self.outages: Final[list[Outage]] = []
        self.failures: Final[list[str]] = []
        """What must never happen and was seen by the way."""
        self.has_failed: Final = loop.create_future()
        self.disks: Final = {
            name: Disk(f"{name}-db", module.MIGRATIONS, loop, trace, self.clock)
            for name, module in _MODULES.items()
        }
        self.services: Final = {
            "wallet": Service(self, "wallet", _wallet),
            "rating": Service(self, "rating", _rating),
            **{
                name: Service(self, name, _engine, chance.randrange(-_SKEW_MS, _SKEW_MS))
                for name in (f"{ENGINE}-{number + 1}" for number in range(chance.choice(_ENGINES)))
            },
        }
        self._chance = chance
        self._storm = loop.process("storm")
        weather.strike = self._strike

    def start(self) -> None:
        """Start every service."""
        serve_bots(self.loop, self.network)
        for service in self.services.values():
            service.boot()

    def later(self, after_s: float, work: Callable[[], None]) -> None:
        """Do something to the platform after so long."""
        self.loop.call_later(after_s, work, context=self._storm.context)

    def fail(self, text: str) -> None:
        """Note something that must never happen."""
        self.trace.event(f"FAILED: {text}")
        self.failures.append(text)
        if not self.has_failed.done():
            self.has_failed.set_result(None)

    def hear(self, line: EventDict) -> None:
        """A line of a service's log: what is an error there must never happen here."""
        self.trace.event(f"{current().name} logs {line}")
        if line["level"] in ("error", "critical") and line["event"] not in _ABOUT_OUTAGES:
            self.fail(f"{current().name} logs {_readable(line)}")

    async def storm(self) -> None:
        """Let things befall the platform until the weather calms down."""
        climate = self.weather.climate
        await asyncio.gather(
            self._again_and_again(climate.crash_every_s, self._crash),
            self._again_and_again(climate.pause_every_s, self._pause),
            self._again_and_again(climate.outage_every_s, self._outage),
        )

    async def _again_and_again(self, every_s: float, work: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / every_s))
            work()

    def _crash(self) -> None:
        service, for_s = self._any_service(), self._chance.uniform(0.05, 6.0)
        if self._chance.random() < 0.3:
            service.stop(for_s)
        else:
            service.kill(for_s)

    def _pause(self) -> None:
        self._any_service().pause(self._chance.choice((0.1, 1.0, 3.0, 9.0)))

    def _outage(self) -> None:
        disk = self._chance.choice(list(self.disks.values()))
        for_s = self._chance.choice((0.1, 1.0, 5.0))
        self.trace.event(f"{disk.name} is away for {for_s} s")
        disk.is_away = True

        def back() -> None:
            disk.is_away = False

        self.later(for_s, back)

    def _any_service(self) -> Service:
        return self._chance.choice(list(self.services.values()))

    def _strike(self, process: Process, strike: Strike) -> None:
        for service in self.services.values():
            if service.process is process:
                if strike is Strike.KILL:
                    service.kill(self._chance.uniform(0.05, 3.0))
                else:
                    service.pause(self._chance.uniform(0.05, 5.0))


def told(error: BaseException | None) -> str:
    """The error with where it came from."""
    return "" if error is None else "".join(traceback.format_exception(error))


def _readable(line: EventDict) -> EventDict:
    error = line.get("exc_info")
    return {**line, "exc_info": told(error)} if isinstance(error, BaseException) else line


@cache
def _engine_settings(name: str) -> EngineSettings:
    return EngineSettings(
        environment=Environment.TEST,
        database_url=SecretStr("sqlite:///engine"),
        wallet_address="wallet",
        rating_address="rating",
        bots_address="bots",
        engine_name=name,
        bot_pace_ms=100,
        snapshot_every_rows=20,
    )


@cache
def _wallet_settings() -> wallet_app.WalletSettings:
    return wallet_app.WalletSettings(
        environment=Environment.TEST,
        database_url=SecretStr("sqlite:///wallet"),
        welcome_chips=WELCOME_CHIPS,
        audit_every_ms=1_000_000_000,
        event_check_every_ms=1_000_000_000,
    )


@cache
def _rating_settings() -> RatingSettings:
    return RatingSettings(environment=Environment.TEST, database_url=SecretStr("sqlite:///rating"))


def _engine(name: str) -> App:
    return engine_app.EngineApp(_engine_settings(name))


def _wallet(_: str) -> App:
    return wallet_app.WalletApp(_wallet_settings())


def _rating(_: str) -> App:
    return rating_app.RatingApp(_rating_settings())


_MODULES: Final[dict[str, ModuleType]] = {
    "engine": engine_app,
    "wallet": wallet_app,
    "rating": rating_app,
}


@contextmanager
def simulated(platform: Platform, seed: str) -> Iterator[None]:
    """While this lasts, apps are wired to the simulation, and all randomness comes from a seed."""

    def database(url: SecretStr, **_: object) -> SimulatedDatabase:
        name = url.get_secret_value().rpartition("/")[2]
        return SimulatedDatabase(platform.disks[name], platform.weather)

    async def migrated(*_: object) -> None:
        """A disk is made with the newest schema."""

    def untold(*_: object) -> None:
        """Nobody asks for the status of a simulated database, and reading its scripts is slow."""

    chance = Random(seed)
    state = random.getstate()
    random.seed(chance.getrandbits(64))
    with ExitStack() as patches:
        patches.enter_context(heard_logs(platform.hear))
        instead = {"Database": database, "migrate": migrated, "tell_database": untold}
        for module in _MODULES.values():
            for name, double in instead.items():
                patches.enter_context(patch.object(module, name, double))
        patches.enter_context(patch.object(os, "urandom", chance.randbytes))
        patches.enter_context(patch.object(random, "_urandom", chance.randbytes))
        try:
            yield
        finally:
            random.setstate(state)
