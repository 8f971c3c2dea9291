"""What a client knows of its table after rows that it has missed."""

from okey.api.common.v1 import common_pb2
from okey.api.common.v1 import table_pb2 as common_table_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.api.events.v1 import events_pb2
from okey.rules.tile import Tile
from tests.chaos.tables.board import Board


def test_who_missed_its_seat_and_the_deal_knows_its_rack() -> None:
    """Of missed rows only the last one says which seat is the own one, the deal shows it too."""
    board = Board()
    board.look(table_pb2.TableView(seq=1, viewer=-1))
    seat = events_pb2.SeatRequested(seat=1, player="anna")
    rack = common_table_pb2.Rack(tiles=[common_pb2.TILE_R1, common_pb2.TILE_R2])
    deal = events_pb2.RoundDealt(racks=[common_table_pb2.Rack(), rack])
    for seq, event in (
        (2, events_pb2.Event(seat_requested=seat)),
        (3, events_pb2.Event(round_dealt=deal)),
    ):
        board.take(engine_pb2.TableUpdate(seq=seq, events=[event]))
    assert (board.seat, board.rack) == (1, [Tile.R1, Tile.R2])
