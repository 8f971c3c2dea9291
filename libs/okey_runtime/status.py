"""What a process says about itself to operators: version, clock, what keeps it from taking work,
and what it finds where it looks at what it depends on.

Every ``ServiceServer`` serves it; an app adds its own checks and figures to ``host.status``.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from okey.api.common.v1 import status_pb2
from okey_runtime.clock import Clock
from okey_runtime.readiness import Readiness

_CHECK_TIMEOUT_S: Final = 5.0
_PACKAGE: Final = "okey-platform"

OK: Final = status_pb2.CHECK_STATE_OK
WARNING: Final = status_pb2.CHECK_STATE_WARNING
WRONG: Final = status_pb2.CHECK_STATE_WRONG


@dataclass(frozen=True, slots=True)
class Found:
    """How a check came out: what was found, with the values, and what to do about it."""

    state: status_pb2.CheckState.ValueType
    text: str
    advice: str = ""


Look = Callable[[], Awaitable[Found]]
"""Looks at one thing now; it may raise nothing."""


class Status:
    """What there is to say; ``service`` is what the process is one of, ``name`` which."""

    def __init__(self, service: str, clock: Clock, readiness: Readiness) -> None:
        self.service: Final = service
        self.name = ""
        self.started_ms = 0
        self._clock = clock
        self._readiness = readiness
        self._facts: dict[str, Callable[[], str]] = {}
        self._figures: dict[str, Callable[[], int]] = {}
        self._checks: dict[str, Look] = {}

    def fact(self, name: str, read: Callable[[], str]) -> None:
        """What all processes of a service should have the same; never a secret."""
        self._facts[name] = read

    def figure(self, name: str, read: Callable[[], int]) -> None:
        """A measure of this process."""
        self._figures[name] = read

    def check(self, name: str, look: Look) -> None:
        """Something that can be looked at; it is given five seconds."""
        self._checks[name] = look

    async def tell(self, *, with_checks: bool) -> status_pb2.GetStatusResponse:
        """Everything, as it is now."""
        looks = self._checks.items() if with_checks else ()
        checks = await asyncio.gather(*(_looked(name, look) for name, look in looks))
        return status_pb2.GetStatusResponse(
            service=self.service,
            name=self.name,
            version=platform_version(),
            now_ms=self._clock.now_ms(),
            started_ms=self.started_ms,
            blocked_by=sorted(self._readiness.reasons),
            facts={name: read() for name, read in self._facts.items()},
            figures={name: read() for name, read in self._figures.items()},
            checks=checks,
        )


def platform_version() -> str:
    """The version of the platform that this process runs."""
    try:
        return version(_PACKAGE)
    except PackageNotFoundError:
        return "unknown"


async def _looked(name: str, look: Look) -> status_pb2.StatusCheck:
    try:
        async with asyncio.timeout(_CHECK_TIMEOUT_S):
            found = await look()
    except TimeoutError:
        text = f"gives no answer within {_CHECK_TIMEOUT_S:g} s"
        found = Found(WRONG, text, "see whether it runs, and whether this process can reach it")
    return status_pb2.StatusCheck(
        name=name, state=found.state, text=found.text, advice=found.advice
    )
