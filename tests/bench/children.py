"""Child processes that end with their parent, however that ends."""

import os
import threading
from typing import Final

_STDIN: Final = 0


def end_with_parent() -> None:
    """End this process once its standard input is closed, which the parent holds open."""
    threading.Thread(target=_wait, name="parent", daemon=True).start()


def _wait() -> None:
    # Not by sys.stdin, whose lock a thread must not hold when the interpreter ends.
    while os.read(_STDIN, 1):
        pass
    os._exit(1)
