"""What the engine adds to its status: its tables, its outbox, and whether it stands still."""

from typing import Final

from okey_runtime.metrics import values_of
from okey_runtime.status import OK, WARNING, WRONG, Found, Status
from services.engine.metrics import (
    QUARANTINED,
    RELAY_OLDEST_SECONDS,
    STANDING_STILL_SECONDS,
    TABLES,
)

LAG_WARNING_S: Final = 30.0
LAG_WRONG_S: Final = 300.0


def tell_engine(status: Status, name: str) -> None:
    """Have the status say how the engine called ``name`` is."""
    status.name = name
    status.figure("tables", lambda: round(sum(values_of(TABLES).values())))
    status.check("outbox", _outbox)
    status.check("tables", _tables)


async def _outbox() -> Found:
    """How long the oldest row has waited for each sink's answer."""
    waits = {sink: seconds for (sink,), seconds in values_of(RELAY_OLDEST_SECONDS).items()}
    told = ", ".join(f"{sink} {seconds:.0f} s behind" for sink, seconds in sorted(waits.items()))
    longest = max(waits.values(), default=0.0)
    advice = "see docs/runbooks/relay-stuck.md"
    if longest > LAG_WRONG_S:
        return Found(WRONG, told, advice)
    if longest > LAG_WARNING_S:
        return Found(WARNING, told, advice)
    return Found(OK, told)


async def _tables() -> Found:
    """Whether anything stands still."""
    standing_s = values_of(STANDING_STILL_SECONDS)[()]
    if standing_s:
        told = f"nothing was decided for {standing_s:.0f} s: every clock stands still"
        return Found(WRONG, told, "see its database: docs/runbooks/engine-slow.md")
    stopped = round(values_of(QUARANTINED)[()])
    if stopped:
        told = f"{stopped} tables stand still (quarantine)"
        return Found(WARNING, told, "see docs/runbooks/table-quarantined.md")
    return Found(OK, "none stands still")
