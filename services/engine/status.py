"""What the engine adds to its status: its tables, its outbox, and whether it stands still."""

from collections import Counter
from typing import Final

from okey_runtime.status import OK, WARNING, WRONG, Found, Status
from services.engine.metrics import OLDER_SEALS
from services.engine.seals import Seals
from services.engine.standstill import Standstill
from services.engine.tables import Tables

LAG_WARNING_S: Final = 30.0
LAG_WRONG_S: Final = 300.0


def tell_engine(
    status: Status, name: str, tables: Tables, standstill: Standstill, seals: Seals
) -> None:
    """Have the status say how the engine called ``name`` is."""

    async def outbox() -> Found:
        return _outbox(tables)

    async def stand() -> Found:
        return standing(tables, standstill)

    async def sealing() -> Found:
        return _sealing(tables, seals)

    OLDER_SEALS.set_function(lambda: _older(tables, seals).total())
    status.name = name
    status.figure("tables", lambda: tables.count_by_shard().total())
    status.figure("unloaded tables", tables.recovery.unloaded)
    status.check("outbox", outbox)
    status.check("tables", stand)
    status.check("seal keys", sealing)


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


def _older(tables: Tables, seals: Seals) -> Counter[str]:
    """How many tables have a seed that is encrypted with another key than the newest, by key."""
    key_ids = (actor.seal.key_id for actor in tables.live())
    return Counter(key_id for key_id in key_ids if key_id not in ("", seals.newest_id))


def _sealing(tables: Tables, seals: Seals) -> Found:
    """With which key seeds are encrypted, and which older ones tables still need."""
    if not seals.newest_id:
        return Found(
            WARNING,
            "seeds of running rounds stand in the database in the clear",
            "set OKEY_SEAL_KEYS_FILE",
        )
    if seals.current is None:
        return Found(
            WARNING,
            f"key {seals.newest_id} is not used: an engine has none, so it could not read",
            "finish the update of all engines, each with OKEY_SEAL_KEYS_FILE",
        )
    told = f"key {seals.current.key_id}"
    if older := _older(tables, seals):
        needs = ", ".join(f"{count} tables need {key_id}" for key_id, count in older.items())
        told = f"{told}; {needs}"
    return Found(OK, told)


def standing(tables: Tables, standstill: Standstill) -> Found:
    """The state of the tables: frozen, overdue, quarantined, or well."""
    if standstill.is_on:
        told = f"nothing was decided for {standstill.standing_s():.0f} s: every clock stands still"
        return Found(WRONG, told, "see its database: docs/runbooks/engine-slow.md")
    if late := tables.overdue.count():
        told = f"{late} tables are past their deadline: no clock rings there"
        return Found(WRONG, told, "see docs/runbooks/database-fails.md")
    if tables.quarantine.tables:
        told = f"{len(tables.quarantine.tables)} tables stand still (quarantine)"
        return Found(WARNING, told, "see docs/runbooks/table-quarantined.md")
    return Found(OK, "none stands still")
