"""The engine's tables as players see them in the list."""

from typing import Final

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.api.lobby.v1 import lobby_pb2

OPEN_PHASES: Final = (table_pb2.PHASE_WAITING, table_pb2.PHASE_NACHSPIEL)
"""Phases in which others may sit down on free seats (W1, Ç9)."""
_PLAYED_PHASES: Final = (table_pb2.PHASE_PLAYING, table_pb2.PHASE_PAUSE)


def is_listed(table: engine_pb2.TableSummary) -> bool:
    """Whether players see the table in the list: not a private one, and none that stands still."""
    is_over = table.phase == table_pb2.PHASE_CLOSED
    return not (is_over or table.is_quarantined or table.is_private)


def listed(table: engine_pb2.TableSummary) -> lobby_pb2.ListedTable:
    """A table as players see it in the list: no player ids, no house level but a solo table's."""
    taken = [
        lobby_pb2.ListedSeat(
            seat=seat.seat,
            display_name=seat.display_name,
            is_house=seat.control == table_pb2.CONTROL_HOUSE,
        )
        for seat in table.seats
        if seat.status != table_pb2.SEAT_STATUS_FREE
    ]
    is_solo = table.mode == common_pb2.MODE_SOLO
    return lobby_pb2.ListedTable(
        table_id=table.table_id,
        terms=lobby_pb2.TableTerms(
            variant=table.variant,
            mode=table.mode,
            seat_count=table.seat_count,
            stake=table.stake,
            turn_timeout_ms=table.turn_timeout_ms,
            start_points=table.start_points,
        ),
        bot_level=table.bot_level if is_solo else common_pb2.BOT_LEVEL_UNSPECIFIED,
        taken_seats=taken,
        is_joinable=table.phase in OPEN_PHASES and len(taken) < table.seat_count and not is_solo,
        is_playing=table.phase in _PLAYED_PHASES,
        kasa=table.kasa,
        is_nachspiel=table.phase == table_pb2.PHASE_NACHSPIEL,
        house_fill_after_ms=table.house_fill_after_ms,
        created_ms=table.created_ms,
    )
