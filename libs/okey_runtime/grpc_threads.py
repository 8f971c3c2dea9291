"""gRPC's threads give way to the event loop.

A thread of gRPC's tells the loop of every message that was read or written. Woken for one it would
take the core from the loop at once, write a byte, and give it back: five to seven times a command,
a tenth of what a busy engine does. As a batch thread (SCHED_BATCH of sched(7)) it waits until the
loop rests, or for another core, and then tells of all that has come meanwhile.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import grpc


def start_grpc() -> None:
    """Start what all servers and channels of the process share; nothing where it runs already.

    Where the system knows no batch threads or allows none, these are like any others.
    """
    with _giving_way():
        grpc.aio.init_grpc_aio()


@contextmanager
def _giving_way() -> Iterator[None]:
    """Threads that begin within inherit it; the one that is here has its own policy again after."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except OSError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)
