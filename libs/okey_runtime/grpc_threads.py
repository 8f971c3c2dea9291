"""gRPC's threads give way to the event loop.

A thread of gRPC's tells the loop of every message that was read or written. Woken for one it would
take the core from the loop at once, write a byte, and give it back: five to seven times a command,
a tenth of what a busy engine does. As a batch thread (SCHED_BATCH of sched(7)) it waits until the
loop rests, or for another core, and then tells of all that has come meanwhile.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import grpc


def start_grpc() -> None:
    """Start what all servers and channels of the process share; nothing where it runs already.

    Where the system knows no batch threads or allows none, or somebody chose a policy for this
    process, these are like any others.
    """
    with _giving_way():
        grpc.aio.init_grpc_aio()


@contextmanager
def _giving_way() -> Iterator[None]:
    """Threads that begin within inherit it; the one that is here has its own policy again after."""
    is_batch = False
    with suppress(AttributeError, OSError):  # not Linux; not allowed
        # From another policy batch may be the better one, or there may be no way back.
        if os.sched_getscheduler(0) == os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
            is_batch = True
    try:
        yield
    finally:
        if is_batch:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
