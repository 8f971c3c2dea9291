"""Named places in the code where a test can make a crash happen; elsewhere they do nothing.

``hit`` looks at an empty list and returns, unless something is armed, and arming is refused outside
the environment ``test``: so no setting, header or request of production can reach it. In a
process ``OKEY_FAILPOINT=wallet.before_commit@3`` makes the third pass of that place a ``kill -9``
of the process by itself, and with ``!stop`` behind it a SIGSTOP; in process, tests arm a function
of their own.
"""

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

from okey_runtime.config import Environment, ServiceSettings

Strike = Callable[[str, object], None]
"""Called at each failpoint, on whatever thread passes it, with the name and what it is about; what
it raises comes out of the failpoint.
"""

POINTS: Final = frozenset(
    {
        "engine.decided",
        "engine.before_call",
        "engine.replied",
        "engine.told",
        "wallet.begun",
        "wallet.key_checked",
        "wallet.journal_inserted",
        "wallet.before_commit",
        "wallet.declining",
        "wallet.requesting",
        "wallet.approval_booked",
        "wallet.committed",
    }
)
"""Every failpoint there is."""

_SPEC: Final = re.compile(
    r"(?P<point>[a-z_.]+)(:(?P<about>\w+))?@(?P<pass>[1-9]\d{0,5})(?P<how>!stop)?"
)

_strikes: Final[list[Strike]] = []


class FailpointsForbidden(Exception):
    """Failpoints exist for tests: only a process of the environment ``test`` arms them."""


class FailpointUnknown(Exception):
    """The text names no failpoint of ours; the message says how to write one."""


def hit(point: str, about: object = None) -> None:
    """Pass the failpoint; ``about`` is what is being worked on there."""
    for strike in _strikes:
        strike(point, about)


@contextmanager
def armed(environment: Environment, strike: Strike) -> Iterator[None]:
    """Have the function called at every failpoint of this process until the block ends.

    Raises:
        FailpointsForbidden: this is not a test, or another test is under way.
    """
    _refuse_outside_tests(environment)
    if _strikes:
        raise FailpointsForbidden("the failpoints are armed already: one test at a time")
    _strikes.append(strike)
    try:
        yield
    finally:
        _strikes.clear()


def arm_process(settings: ServiceSettings) -> None:
    """Arm what ``OKEY_FAILPOINT`` names for the rest of this process's life; without it, nothing.

    Raises:
        FailpointsForbidden: this is not a test.
        FailpointUnknown: the setting does not read ``<point>[:<kind>]@<pass>[!stop]``.
    """
    if not settings.failpoint:
        return
    _refuse_outside_tests(settings.environment)
    number = signal.SIGSTOP if settings.failpoint.endswith("!stop") else signal.SIGKILL
    _strikes.append(killing(settings.failpoint, lambda: os.kill(os.getpid(), number)))


def killing(spec: str, kill: Callable[[], None]) -> Strike:
    """A strike that calls ``kill`` once the named failpoint is passed for the given time; with
    ``:<kind>`` only passes about that kind of thing count.

    Raises:
        FailpointUnknown: the text is no such thing.
    """
    read = _SPEC.fullmatch(spec)
    if read is None or read["point"] not in POINTS:
        raise FailpointUnknown(
            f"{spec!r} names no failpoint: write one of {', '.join(sorted(POINTS))}, with @1 for "
            "its first pass"
        )
    point, kind, last = read["point"], read["about"], int(read["pass"])
    passes = count(1)

    def strike(passed: str, about: object) -> None:
        if passed == point and kind in (None, kind_of(about)) and next(passes) == last:
            kill()

    return strike


def kind_of(about: object) -> str:
    """What kind of thing a failpoint is about: ``HoldStake`` of a command and of a request."""
    return type(about).__name__.removesuffix("Request")


def _refuse_outside_tests(environment: Environment) -> None:
    if environment is not Environment.TEST:
        raise FailpointsForbidden(
            f"failpoints are for tests: the environment {environment.value!r} refuses them"
        )
