"""A service as a process that is started again whenever it dies, and counts how often it was."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import grpc
from grpc_health.v1 import health_pb2

from okey_runtime.channel import open_channel
from okey_runtime.clock import SystemClock
from okey_runtime.environment import UNUSABLE_SETTINGS
from okey_runtime.readiness import READINESS

ROOT: Final = Path(__file__).parents[3]
_LOOK_EVERY_S: Final = 0.05
_CHECK: Final = "/grpc.health.v1.Health/Check"


class ServiceUnusable(Exception):
    """A service will never start as it is set up; the message quotes what it logged."""


class Service:
    """``python -m services.<kind>`` on a fixed port, called ``<kind>`` or ``<kind>-<number>``;
    ``failpoint`` names each life's own end.
    """

    def __init__(
        self,
        name: str,
        address: str,
        environment: Mapping[str, str],
        failpoint: Callable[[], str],
        log: Path,
        root: Path = ROOT,
    ) -> None:
        self.name: Final = name
        self.kind: Final = name.partition("-")[0]
        self.address: Final = address
        self.kills = 0
        self.root = root
        """The clone that the next life is started from, with an environment of its own."""
        self.beside: Mapping[str, str] = {}
        """What the next life finds in its environment beside the rest."""
        self._environment = environment
        self._failpoint = failpoint
        self.log: Final = log
        self._process: Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._may_run = asyncio.Event()
        self._may_run.set()

    async def start(self) -> None:
        """Start it and keep it running.

        Raises:
            ServiceUnusable: it refuses its settings.
        """
        self._keeper = asyncio.create_task(self._keep())
        await self.ready()

    async def stop(self) -> None:
        """End it for good."""
        self._is_stopping = True
        self.release()
        self.kill()
        if self._keeper is not None:
            # Whatever has ended it was told to those who waited for the service.
            await asyncio.wait((self._keeper,))

    def _last_line(self) -> str:
        return self.log.read_text("utf-8").rstrip().rpartition("\n")[2]

    def kill(self) -> None:
        """End the present life, if there is one, as ``kill -9`` does."""
        self.send(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Send the present life a signal, if there is one."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    async def end(self, number: signal.Signals) -> None:
        """Send a signal that ends the present life, and return when it is over."""
        process = self._process
        self.send(number)
        if process is not None:
            await process.wait()

    def hold(self) -> None:
        """Once the present life is over, start no other one."""
        self._may_run.clear()

    def release(self) -> None:
        """Start it again, if it is down."""
        self._may_run.set()

    async def ready(self) -> int:
        """Return once it takes work; when it was last looked at in vain, on the wall, or 0.

        Raises what has ended the keeping of it.
        """
        in_vain_ms = 0
        async with open_channel(self.address) as channel:
            check = channel.unary_unary(
                _CHECK,
                request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                response_deserializer=health_pb2.HealthCheckResponse.FromString,
            )
            request = health_pb2.HealthCheckRequest(service=READINESS)
            while True:
                if self._keeper is not None and self._keeper.done():
                    self._keeper.result()
                looked_ms = SystemClock().now_ms()
                try:
                    answer = await check(request, timeout=1.0)
                except grpc.aio.AioRpcError:
                    in_vain_ms = looked_ms
                    await asyncio.sleep(_LOOK_EVERY_S)
                    continue
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    return in_vain_ms
                in_vain_ms = looked_ms

    def _python(self) -> str:
        is_own = self.root == ROOT
        return sys.executable if is_own else str(self.root / ".venv" / "bin" / "python")

    async def _keep(self) -> None:
        while True:
            await self._may_run.wait()
            if self._is_stopping:
                return
            with self.log.open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    *(self._python(), "-m", f"services.{self.kind}"),
                    cwd=self.root,
                    env={
                        **os.environ,
                        **self._environment,
                        **self.beside,
                        "OKEY_FAILPOINT": self._failpoint(),
                    },
                    stdin=DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            status = await self._process.wait()
            if status == UNUSABLE_SETTINGS:
                raise ServiceUnusable(f"{self.name} refuses its settings: {self._last_line()}")
            if status == -signal.SIGKILL:
                self.kills += 1
            else:
                # It could not start, because its database was away; it tries again.
                await asyncio.sleep(_LOOK_EVERY_S)
