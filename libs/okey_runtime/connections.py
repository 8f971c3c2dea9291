"""The connections of the gRPC port: how many of them one address may have, and which are cut.

gRPC bounds the connections of a port, not those of an address, and shows no connection to Python.
So each second we look at the process's own sockets, and end the surplus of an address: those of
strangers first, the longest wait before others, so that a newcomer finds a place. An address whose
calls go on without ever saying who calls loses the connection that such a call came over. One over
which somebody known has called is not cut for that, since an edge passes on the calls of all.

Where the system does not list a process's sockets (no ``/proc``) nothing is cut.
"""

import asyncio
import os
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from contextvars import Context
from pathlib import Path
from typing import Final

from prometheus_client import Counter

from okey_runtime.background import repeat
from okey_runtime.bad_tokens import host_of_peer
from okey_runtime.clock import Clock
from okey_runtime.limits import Buckets
from okey_runtime.line_quota import LINES
from okey_runtime.logging import get_logger

_FOLDER: Final = Path("/proc/self/fd")
_EVERY_MS: Final = 1_000
_STRAYS_PER_S: Final = 50
_STRAYS_AT_ONCE: Final = 200
_MOST_HOSTS: Final = 10_000
_AT_ONCE: Final = 256
"""Sockets that are looked at before others have their turn."""
_REST: Final = 9
"""How many times as long as a look the pause after it is."""

CUT: Final = Counter(
    "okey_connections_cut_total",
    "Connections to the gRPC port that the service has ended, by reason.",
    ("reason",),
)
for _reason in ("CROWDED", "STRAYING"):
    CUT.labels(_reason)

_log = get_logger(__name__)


class Connections:
    """Those of one port; ``share`` of them are one address's at most."""

    def __init__(self, share: int, clock: Clock) -> None:
        self._share = share
        self._clock = clock
        self._known: set[str] = set()
        self._straying: set[str] = set()
        self._strays = Buckets(_STRAYS_PER_S, _STRAYS_AT_ONCE, clock, most=_MOST_HOSTS)
        self._peers: dict[str, str] = {}
        """By socket, the longest known first; "" for what is no connection of the port."""
        self._port = 0
        self._looking = asyncio.Lock()
        self._cutting: asyncio.Task[None] | None = None

    def known(self, peer: str) -> None:
        """Somebody known has called over this connection; ``peer`` is gRPC's name of its end."""
        if self._port:
            self._known.add(peer)

    def stray(self, peer: str) -> bool:
        """A call ends of which nobody knows whose it was, and whose message was not read.

        Where its address does that too often the connection goes, and the answer is true: what the
        caller would be told is not worth its cost.
        """
        if not self._port or peer in self._known:
            return False
        if not self._strays.take(host_of_peer(peer), ""):
            return False
        self._straying.add(peer)
        if self._cutting is None or self._cutting.done():
            # Not in the context of the call, which its log lines would name.
            self._cutting = asyncio.create_task(
                self._cut_strays(), name="connections-cut", context=Context()
            )
        return True

    async def watch(self, port: int) -> None:
        """Look each second, until cancelled."""
        if not _FOLDER.is_dir():
            _log.warning(
                "connections_of_an_address_are_not_bounded",
                why=f"this system has no {_FOLDER}: let a firewall bound them",
            )
            return
        self._port = port
        await repeat("connections", self._look, _EVERY_MS, self._clock)

    async def _cut_strays(self) -> None:
        """Without waiting for the next look; with thousands of connections a look is dear."""
        while self._straying:
            began_s = time.perf_counter()
            await self._look()
            await asyncio.sleep(_REST * (time.perf_counter() - began_s))

    async def _look(self) -> None:
        async with self._looking:
            known = frozenset(self._known)
            numbers = await self._numbers()
            straying, self._straying = self._straying - self._known, set()
            peers = {name: self._peers[name] for name in numbers}
            self._known -= known.difference(peers.values())
            strays = [name for name, peer in peers.items() if peer in straying]
            self._end(strays, "STRAYING", "it calls on and on without saying who calls", numbers)
            by_host: dict[str, list[str]] = {}
            for name, peer in peers.items():
                if peer not in straying:
                    by_host.setdefault(host_of_peer(peer), []).append(name)
            for names in by_host.values():
                surplus = self._surplus(names)
                self._end(surplus, "CROWDED", "it has more connections than its share", numbers)

    async def _numbers(self) -> dict[str, int]:
        """The descriptor of each of the port's connections; brings ``_peers`` up to date.

        Not in a thread: that would wait for its turn at each socket while calls keep the loop busy.
        """
        now: dict[str, int] = {}
        for at, number in enumerate(os.listdir(_FOLDER), start=1):
            with suppress(OSError):  # the folder's own, or closed meanwhile
                name = os.readlink(f"{_FOLDER}/{number}")
                if name.startswith("socket:"):
                    now[name] = int(number)
                    if name not in self._peers:
                        self._peers[name] = _peer(int(number), self._port)
            if at % _AT_ONCE == 0:
                await asyncio.sleep(0)
        self._peers = {name: peer for name, peer in self._peers.items() if name in now}
        return {name: now[name] for name, peer in self._peers.items() if peer}

    def _surplus(self, names: Sequence[str]) -> Sequence[str]:
        more = len(names) - self._share
        if more <= 0:
            return ()
        strangers = [name for name in names if self._peers[name] not in self._known]
        friends = [name for name in reversed(names) if self._peers[name] in self._known]
        return [*strangers, *friends][:more]

    def _end(self, names: Sequence[str], reason: str, why: str, numbers: dict[str, int]) -> None:
        ended = [self._peers[name] for name in names if _end(name, numbers[name])]
        if not ended:
            return
        CUT.labels(reason).inc(len(ended))
        LINES.warn(
            _log,
            "connections_cut",
            reason=reason,
            host=host_of_peer(ended[-1]),
            connections=len(ended),
            share=self._share,
            why=why,
        )


def _peer(number: int, port: int) -> str:
    """Whose connection of the port it is, as gRPC names it."""
    try:
        with socket.socket(fileno=os.dup(number)) as found:
            if found.family not in (socket.AF_INET, socket.AF_INET6):
                return ""
            if found.getsockname()[1] != port:
                return ""
            host, its_port = found.getpeername()[:2]
    except OSError:  # closed meanwhile, or one that listens
        return ""
    host = host.partition("%")[0].removeprefix("::ffff:")
    return f"ipv6:%5B{host}%5D:{its_port}" if ":" in host else f"ipv4:{host}:{its_port}"


def _end(name: str, number: int) -> bool:
    """End the connection, if the descriptor is still its own; gRPC sees that its peer has gone."""
    with suppress(OSError):
        own = os.dup(number)
        with socket.socket(fileno=own) as found:
            if os.readlink(_FOLDER / str(own)) == name:
                found.shutdown(socket.SHUT_RDWR)
                return True
    return False
