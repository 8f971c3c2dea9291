"""Tables of a list, for its tests."""

from okey.api.common.v1 import common_pb2
from okey.api.lobby.v1 import lobby_pb2

CANAK, KLASIK = common_pb2.VARIANT_CANAK, common_pb2.VARIANT_KLASIK
NORMAL, ESLI = common_pb2.MODE_NORMAL, common_pb2.MODE_ESLI


def table(
    number: int,
    *,
    variant: common_pb2.Variant.ValueType = CANAK,
    mode: common_pb2.Mode.ValueType = NORMAL,
    seat_count: int = 4,
    taken: int = 1,
    stake: int = 50,
    turn_timeout_ms: int = 60_000,
    start_points: int = 0,
    is_joinable: bool = True,
    kasa: int = 0,
    house_fill_after_ms: int = 0,
    created_ms: int = 0,
) -> lobby_pb2.ListedTable:
    """A table whose id is this number."""
    return lobby_pb2.ListedTable(
        table_id=f"{number:026d}",
        terms=lobby_pb2.TableTerms(
            variant=variant,
            mode=mode,
            seat_count=seat_count,
            stake=stake,
            turn_timeout_ms=turn_timeout_ms,
            start_points=start_points,
        ),
        taken_seats=[lobby_pb2.ListedSeat(seat=seat) for seat in range(taken)],
        is_joinable=is_joinable,
        kasa=kasa,
        house_fill_after_ms=house_fill_after_ms,
        created_ms=created_ms,
    )


def number_of(listed: lobby_pb2.ListedTable) -> int:
    """The number that the table was made with."""
    return int(listed.table_id)
