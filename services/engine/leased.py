"""Callers are sent to other engines while this one's lease has ended."""

from typing import Final, Protocol

from services.engine.ownership import Ownership
from services.engine.steady_clock import SteadyClock

_NOT_LEASED: Final = "lease"


class Ready(Protocol):
    """Says whether callers shall come; ``Readiness`` is the one for production."""

    async def block(self, reason: str) -> None:
        """Not, for this reason."""
        ...

    async def unblock(self, reason: str) -> None:
        """This reason no longer stands."""
        ...


async def ready_while_leased(ownership: Ownership, clock: SteadyClock, ready: Ready) -> None:
    """Send callers to other engines while our lease has ended, for as long as the engine lives."""
    while True:
        await clock.sleep_until_ms(ownership.lapses_ms)
        if ownership.has_lapsed:
            await ready.block(_NOT_LEASED)
            await ownership.renewed()
            await ready.unblock(_NOT_LEASED)
