"""What the engine adds to its status: its tables, its outbox, and whether it stands still."""

from typing import Final

from okey_runtime.status import OK, WARNING, WRONG, Found, Status
from services.engine.standstill import Standstill
from services.engine.tables import Tables

LAG_WARNING_S: Final = 30.0
LAG_WRONG_S: Final = 300.0


def tell_engine(status: Status, name: str, tables: Tables, standstill: Standstill) -> None:
    """Have the status say how the engine called ``name`` is."""

    async def outbox() -> Found:
        return _outbox(tables)

    async def standing() -> Found:
        return _standing(tables, standstill)

    status.name = name
    status.figure("tables", lambda: tables.count_by_shard().total())
    status.check("outbox", outbox)
    status.check("tables", standing)


def _outbox(tables: Tables) -> Found:
    """How long the oldest row has waited for each sink's answer."""
    waits = tables.relays.oldest_waiting_s()
    told = ", ".join(f"{sink} {seconds:.0f} s behind" for sink, seconds in sorted(waits.items()))
    longest = max(waits.values(), default=0.0)
    advice = "see docs/runbooks/relay-stuck.md"
    if longest > LAG_WRONG_S:
        return Found(WRONG, told, advice)
    if longest > LAG_WARNING_S:
        return Found(WARNING, told, advice)
    return Found(OK, told)


def _standing(tables: Tables, standstill: Standstill) -> Found:
    """Whether anything stands still."""
    if standstill.is_on:
        told = f"nothing was decided for {standstill.standing_s():.0f} s: every clock stands still"
        return Found(WRONG, told, "see its database: docs/runbooks/engine-slow.md")
    if tables.quarantine.tables:
        told = f"{len(tables.quarantine.tables)} tables stand still (quarantine)"
        return Found(WARNING, told, "see docs/runbooks/table-quarantined.md")
    return Found(OK, "none stands still")
