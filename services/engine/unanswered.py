"""Stakes about which the wallet says nothing: a seat is not kept for them for ever.

A seat that has been REQUESTED for ``HOLD_DEADLINE_MS`` without an answer is free again, as if its
player had left, and whatever the wallet may have held goes back by the row that says so (M1). The
wait begins anew when the engine has stood still or was started: its own outages count against
nobody. A table with a kasa keeps its seats: an outage of the wallet shall not take the kasa from
those who play for it (Ç9).
"""

from collections.abc import Iterable, Iterator
from typing import Final

from google.protobuf.message import Message

from okey.api.wallet.v1 import wallet_pb2
from okey.table import commands as c
from okey.table.state import SeatStatus, TableState

HOLD_DEADLINE_MS: Final = 120_000


def overdue_holds(
    waiting: Iterable[tuple[int, Message]], table: TableState, now_ms: int
) -> Iterator[c.LeaveSeat]:
    """Who loses the seat: ``waiting`` are calls that have no answer, with the time since when.

    To be asked by whoever makes these calls, so that no answer is under way meanwhile.
    """
    if table.kasa:
        return
    requested = {
        seat.hold_id: seat.player for seat in table.seats if seat.status is SeatStatus.REQUESTED
    }
    for since_ms, call in waiting:
        is_overdue = now_ms - since_ms >= HOLD_DEADLINE_MS
        if is_overdue and isinstance(call, wallet_pb2.HoldStakeRequest):
            player = requested.get(call.hold_id)
            if player is not None:
                yield c.LeaveSeat(player)
