"""How many connections of strangers there may be: in all, and of one address.

A newcomer finds a place as long as others only wait: where an address has all its places, its own
longest wait ends; where all are taken, the longest wait of the address that has most. So one
address takes no place of another, and many addresses take none of those that ask and go.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

from okey.errors import Exhausted

_RETRY_AFTER_MS: Final = 1_000


class AddressBusy(Exhausted):
    """One address, or all together, have as much under way as they may."""

    reason = "ADDRESS_BUSY"
    retry_after_ms = _RETRY_AFTER_MS


class Place:
    """What one connection takes; ``drop`` ends the connection."""

    __slots__ = ("_places", "address", "drop")

    def __init__(self, places: "Places", address: str, drop: Callable[[], None]) -> None:
        self._places = places
        self.address: Final = address
        self.drop: Final = drop

    def wait(self) -> None:
        """From now on the connection waits for its peer, and may be dropped for another."""
        self._places.wait(self)

    def serve(self) -> None:
        """The connection's peer waits for us; it is not dropped for another."""
        self._places.serve(self)

    def leave(self) -> None:
        """Give the place back; twice does no harm."""
        self._places.leave(self)


class Places:
    """At most ``most`` places, ``most_per_address`` of them for one address."""

    def __init__(self, most: int, most_per_address: int) -> None:
        self._most = most
        self._most_per_address = most_per_address
        self._taken: set[Place] = set()
        self._counts: Counter[str] = Counter()
        self._waiting: dict[str, dict[Place, None]] = {}
        """By address, the longest wait first."""

    def __len__(self) -> int:
        return len(self._taken)

    def take(self, address: str, drop: Callable[[], None], *, is_proxy: bool = False) -> Place:
        """A place, which waits; a proxy's are bounded only by the number of all.

        Raises:
            AddressBusy: the address's places, or all, are taken and none of them waits.
        """
        if self._counts[address] >= self._most_per_address and not is_proxy:
            self._end_a_wait(self._waiting.get(address, {}), f"of {address} under way")
        if len(self._taken) >= self._most:
            crowd = max(self._waiting.values(), key=len, default={})
            self._end_a_wait(crowd, "under way")
        place = Place(self, address, drop)
        self._taken.add(place)
        self._counts[address] += 1
        self.wait(place)
        return place

    def wait(self, place: Place) -> None:
        """Put a place that is taken behind the others that wait."""
        if place in self._taken:
            self.serve(place)
            self._waiting.setdefault(place.address, {})[place] = None

    def serve(self, place: Place) -> None:
        """Take a place out of those that wait."""
        waiting = self._waiting.get(place.address)
        if waiting is not None:
            waiting.pop(place, None)
            if not waiting:
                del self._waiting[place.address]

    def leave(self, place: Place) -> None:
        """Free a place."""
        if place not in self._taken:
            return
        self.serve(place)
        self._taken.discard(place)
        self._counts[place.address] -= 1
        if not self._counts[place.address]:
            del self._counts[place.address]

    def _end_a_wait(self, waiting: dict[Place, None], what: str) -> None:
        longest = next(iter(waiting), None)
        if longest is None:
            raise AddressBusy(f"there is as much {what} as there may be: try again later")
        self.leave(longest)
        longest.drop()
