"""How long to wait before something is tried again: longer each time, never longer than the cap."""

import random
from collections.abc import Iterator
from typing import Final

FIRST_WAIT_S: Final = 0.05
LAST_WAIT_S: Final = 3.0


def waits_s() -> Iterator[float]:
    """Waits in seconds, without end: doubling up to the cap, each cut by up to a half by chance.

    The jitter keeps a thousand tables from asking a service that has come back at one moment;
    nothing depends on its value.
    """
    wait_s = FIRST_WAIT_S
    while True:
        yield wait_s * random.uniform(0.5, 1.0)
        wait_s = min(2 * wait_s, LAST_WAIT_S)
