"""A connection's stay at the gateway's port: whose place it takes, and how long each step may take.

A stranger comes in, asks, and goes, or opens a WebSocket and says who it is::

    accepted -> stranger's place -> WebSocket without hello -> a player's, counted by player

Until it is a player's a clock runs at each moment; at its end the connection is dropped.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from okey_runtime.limits import Buckets
from services.gateway.heads import Network
from services.gateway.metrics import DROPPED
from services.gateway.places import Place, Places
from services.gateway.web_tls import WebTls


@dataclass(frozen=True, slots=True)
class Port:
    """What all connections share: the places, the proxies that are believed, TLS if it is spoken,
    and how many milliseconds each step may take.
    """

    strangers: Places
    hellos: Places
    proxies: tuple[Network, ...]
    tls: WebTls | None
    control: Buckets
    """Control frames that a WebSocket may send."""
    openings: Buckets
    """WebSockets that an address may open."""
    request_ms: int
    answer_ms: int
    hello_ms: int
    grace_ms: int
    unread_ms: int


class Stay:
    """One connection's; ``transport`` is what was accepted, below TLS."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._place: Place | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._has_left = False

    def take(self, places: Places, address: str, *, is_proxy: bool = False) -> None:
        """Take a place among others of its kind, and give back what was taken before.

        Raises:
            AddressBusy: there is none.
        """
        place = places.take(address, self._give_way, is_proxy=is_proxy)
        self._leave_place()
        self._place = place

    def wait(self, ms: int, late: Callable[[], None] | None = None) -> None:
        """The peer has so long for what comes next; then ``late`` is called, or it is dropped."""
        if self._place is not None:
            self._place.wait()
        self.within(ms, "WAIT", late)

    def serve(self, ms: int) -> None:
        """The peer waits for us, and has so long to read the answer."""
        if self._place is not None:
            self._place.serve()
        self.within(ms, "UNREAD")

    def within(self, ms: int, reason: str, late: Callable[[], None] | None = None) -> None:
        """Drop the connection, or call ``late``, unless something else is called before."""
        self.rest()
        if not self._has_left:
            drop = late or (lambda: self.drop(reason))
            self._clock = self._loop.call_later(ms / 1000, drop)

    def rest(self) -> None:
        """No clock runs."""
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def admit(self) -> None:
        """A player's from now on: it takes no stranger's place, and no clock runs."""
        self._leave_place()
        self.rest()

    def drop(self, reason: str) -> None:
        """End the connection at once, with whatever was not sent."""
        DROPPED.labels(reason).inc()
        self._transport.abort()

    def leave(self) -> None:
        """The connection is gone."""
        self._has_left = True
        self.admit()

    @property
    def is_strangers(self) -> bool:
        """Whether nobody knows yet whose it is."""
        return self._place is not None

    def _give_way(self) -> None:
        self.drop("CROWDED")

    def _leave_place(self) -> None:
        place, self._place = self._place, None
        if place is not None:
            place.leave()
