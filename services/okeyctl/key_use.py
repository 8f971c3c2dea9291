"""Whether a seal key is still needed, as the engines say."""

from collections.abc import Iterator

from okey.api.common.v1 import status_pb2
from okey.api.engine.v1 import engine_pb2
from okey_runtime.clock import SystemClock
from services.okeyctl.doctor.observe import Observed, Seen, observe
from services.okeyctl.reach import Reach


async def observe_engines(way: Reach) -> Observed:
    """Every engine behind the address, and which engines are members."""
    return await observe(
        {"engine": way.address}, lambda _: way.token, SystemClock(), with_ledger=False
    )


def reasons_to_keep(key_id: str, observed: Observed) -> list[str]:
    """Why the key may not be dropped; none where every engine was asked and none needs it."""
    if not isinstance(observed.shards, engine_pb2.ListShardsResponse):
        return ["no engine says which engines there are", *_unseen(observed)]
    told = {seen.name: seen.status for seen in observed.seen if seen.status is not None}
    living = [each.engine for each in observed.shards.engines if each.lease_left_ms > 0]
    return [
        *_unseen(observed),
        *(f"{name} is a member and was not asked" for name in living if name not in told),
        *(why for name, status in sorted(told.items()) for why in _needs(key_id, name, status)),
    ]


def _unseen(observed: Observed) -> Iterator[str]:
    yield from observed.unresolved.values()
    for seen in observed.seen:
        if seen.status is None:
            yield f"{seen.name} says nothing: {_why(seen)}"


def _why(seen: Seen) -> str:
    return seen.unreachable or seen.silent or str(seen.refusal)


def _needs(key_id: str, name: str, status: status_pb2.GetStatusResponse) -> Iterator[str]:
    """What the engine's own checks say against dropping the key (``services/engine/status.py``)."""
    checks = {check.name: check for check in status.checks}
    for expected in ("seal keys", "tables"):
        if expected not in checks:
            yield f"{name} does not say how its {expected} are"
    if "seal keys" in checks and key_id in checks["seal keys"].text:
        yield f"{name}: {checks['seal keys'].text}"
    if "tables" in checks and checks["tables"].state != status_pb2.CHECK_STATE_OK:
        yield f"{name}: {checks['tables'].text}, and which keys those need is not known"
    if unloaded := status.figures.get("unloaded tables"):
        yield f"{name} has {unloaded} tables still to load, and which keys those need is not known"
