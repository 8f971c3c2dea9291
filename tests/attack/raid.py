"""The attacker's side: what it may aim at, how long and how much, and what it has sent.

Everything is bounded: seconds by the run, bytes and connections by this module. An attack prepares,
calls ``go``, and stops when ``is_over``.
"""

import asyncio
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

ADDRESS: Final = "127.0.0.66"
"""Whence attacks come, so that a limit of an address is none of the players'."""
MOST_BYTES: Final = 128 << 20
MOST_CONNECTIONS: Final = 6_000
_SHORTEST_S: Final = 0.002
_SLICE_S: Final = 0.01
_PAUSE_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class Aim:
    """Where to attack, and what the attacker has: ``host:port`` of one process a service, of Envoy
    and of the gateway's page; tokens of ordinary players and of an integrator; tables with finished
    rounds; the id of the key that signs tokens.
    """

    services: dict[str, str] = field(default_factory=dict)
    edge: str = ""
    gateway: str = ""
    players: list[str] = field(default_factory=list)
    player_ids: list[str] = field(default_factory=list)
    integrator: str = ""
    tables: list[str] = field(default_factory=list)
    kid: str = ""
    seconds: float = 4.0


@dataclass(slots=True)
class Spent:
    """What the attacker has sent, and what became of it."""

    bytes_sent: int = 0
    connections: int = 0
    requests: int = 0
    answers: Counter[str] = field(default_factory=Counter)


class Overspent(Exception):
    """The bound of bytes or connections is reached; the attack ends."""


class Line:
    """One connection; what it sends is counted."""

    def __init__(
        self, raid: "Raid", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._raid = raid
        self.reader: Final = reader
        self._writer = writer

    async def send(self, content: bytes) -> None:
        """Send it all; waits while the peer does not read."""
        self._raid.pay(len(content))
        self._writer.write(content)
        await self._writer.drain()

    async def read(self) -> bytes:
        """Some of what came; empty at the end."""
        return await self.reader.read(1 << 16)

    def abort(self) -> None:
        """Break the connection off."""
        self._writer.transport.abort()


class Raid:
    """One attack that runs; ``spent`` is its account."""

    def __init__(self, aim: Aim) -> None:
        self.aim: Final = aim
        self.spent: Final = Spent()
        self._ends_s = 0.0
        self._lines: list[Line] = []

    async def go(self) -> None:
        """Say that everything is prepared, and return when the attack may begin."""
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        self._ends_s = self._now() + self.aim.seconds

    @property
    def has_begun(self) -> bool:
        """Whether ``go`` has returned."""
        return self._ends_s > 0

    @property
    def left_s(self) -> float:
        """How long it still lasts."""
        return max(0.0, self._ends_s - self._now())

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.left_s == 0.0

    def pay(self, size: int) -> None:
        """Account for bytes. Raises ``Overspent``."""
        self.spent.bytes_sent += size
        if self.spent.bytes_sent > MOST_BYTES:
            raise Overspent

    async def connect(self, address: str, receive_bytes: int = 0) -> Line:
        """A connection; with ``receive_bytes`` the kernel keeps no more than that for us."""
        if self.spent.connections >= MOST_CONNECTIONS:
            raise Overspent
        host, _, port = address.rpartition(":")
        own = socket.socket()
        own.setblocking(False)
        if receive_bytes:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        own.bind((ADDRESS, 0))
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await asyncio.get_running_loop().sock_connect(own, (host, int(port)))
            reader, writer = await asyncio.open_connection(sock=own)
        except BaseException:
            own.close()
            raise
        self.spent.connections += 1
        line = Line(self, reader, writer)
        self._lines.append(line)
        return line

    async def ticks(self, per_s: float, burst: int = 0) -> AsyncGenerator[int, None]:
        """Count up at that rate until the attack is over, the first ``burst`` at once."""
        started_s, number = self._now(), 0
        while not self.is_over:
            if number <= burst + (self._now() - started_s) * per_s:
                yield number
                number += 1
                if number % 16 == 0:
                    await asyncio.sleep(0)
            else:
                await asyncio.sleep(max(_SHORTEST_S, 0.5 / per_s))

    async def side_by_side(self, work: Iterable[Coroutine[object, object, None]]) -> None:
        """Do all of it at once until the attack is over; a connection that the victim ends is
        counted and harms no other.
        """
        tasks = [asyncio.create_task(self._counted(each)) for each in work]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self.left_s + 0.1)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def again_and_again(
        self, per_s: float, once: Callable[[int], Awaitable[None]], at_once: int = 64
    ) -> None:
        """Begin that often, with a limit on how many run at once."""
        running = set[asyncio.Task[None]]()
        async for number in self.ticks(per_s):
            if len(running) < at_once:
                task = asyncio.create_task(self._counted(once(number)))
                running.add(task)
                task.add_done_callback(running.discard)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def hear(self, line: Line) -> None:
        """Read until the victim hangs up; how often each begins is counted."""
        first = True
        while content := await line.read():
            if first:
                self.spent.answers[_beginning(content)] += 1
            first = False
        self.spent.answers["hung up on"] += 1

    def close(self) -> None:
        """Break off all that is open."""
        for line in self._lines:
            with suppress(OSError, RuntimeError):
                line.abort()

    async def _counted(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Overspent:
            self.spent.answers["bound reached"] += 1
        except (OSError, asyncio.IncompleteReadError) as error:
            self.spent.answers[type(error).__name__] += 1

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _beginning(content: bytes) -> str:
    first = content.split(b"\r\n", 1)[0][:24]
    return first.decode(errors="replace") if first.isascii() and first[:4].isalpha() else "bytes"


Attack = Callable[[Raid], Coroutine[object, object, None]]


def control() -> Attack:
    """Computes and sends nothing: shows what an attacker's own CPU does to the figures."""

    async def attack(raid: Raid) -> None:
        await raid.go()
        while not raid.is_over:
            until_s = time.monotonic() + _SLICE_S
            while time.monotonic() < until_s:
                pass
            await asyncio.sleep(_PAUSE_S)

    return attack
