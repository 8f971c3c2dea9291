"""How often Python looks for garbage that refers to itself.

Reference counts free nearly everything that a service makes. By default the collector looks after
every 700 new objects all the same, and through everything that lives now and then: that took a
fifth of a busy engine's time, and longer pauses the more tables it had.
"""

import gc
from collections.abc import Iterable
from typing import Final

_NEW_OBJECTS: Final = 50_000
_YOUNG_LOOKS: Final = 20
_MIDDLE_LOOKS: Final = 100
_MOST_LITTER_BYTES: Final = 4 << 20


def look_seldom() -> None:
    """Look at new objects after 50,000 of them, at older ones after so many such looks."""
    gc.set_threshold(_NEW_OBJECTS, _YOUNG_LOOKS, _MIDDLE_LOOKS)


def spare_what_lives() -> None:
    """Never look at what lives now: modules, and what a service has loaded to serve."""
    gc.freeze()


class Litter:
    """What strangers have sent along with their calls and gRPC has not freed yet.

    gRPC leaves a circle at each call that keeps the call's metadata, which may be 16 KiB. Between
    two looks of the collector that could be more than 100 MB, so it looks at new objects each time
    strangers have sent ``most_bytes`` of it.
    """

    def __init__(self, most_bytes: int = _MOST_LITTER_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0

    def add(self, metadata: Iterable[tuple[str, str | bytes]]) -> None:
        """A stranger's call has ended, of which this is the metadata."""
        self._bytes += sum(len(name) + len(value) for name, value in metadata)
        if self._bytes > self._most_bytes:
            self._bytes = 0
            gc.collect(0)
