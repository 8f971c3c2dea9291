"""The engine's messages as values of the pure library, so that clients may think with ``okey``."""

from typing import assert_never

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.rules.tile import Tile
from okey.table import commands
from okey.table.commands import Action, DrawSource
from okey.table.view import TableView
from okey_runtime.codec import decode


def pure_view(message: table_pb2.TableView) -> TableView:
    """The view as ``okey.bots`` and the like take it; display names and the cursor are left out.

    Raises:
        UndecodableMessage: an enum is unspecified, or unknown to this version.
    """
    return decode(TableView, message)


def action_message(action: Action) -> table_pb2.Action:
    """The action as it goes over the wire."""
    match action:
        case commands.Draw(DrawSource.STOCK):
            return table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock())
        case commands.Draw():
            return table_pb2.Action(draw_from_discard=table_pb2.DrawFromDiscard())
        case commands.Discard(tile):
            return table_pb2.Action(discard=table_pb2.Discard(tile=_face(tile)))
        case commands.Finish(tile):
            return table_pb2.Action(finish=table_pb2.Finish(tile=_face(tile)))
        case commands.AnnounceCift():
            return table_pb2.Action(announce_cift=table_pb2.AnnounceCift())
        case commands.WithdrawCift():
            return table_pb2.Action(withdraw_cift=table_pb2.WithdrawCift())
        case commands.ShowGosterge():
            return table_pb2.Action(show_gosterge=table_pb2.ShowGosterge())
        case _:
            assert_never(action)


def _face(tile: Tile) -> common_pb2.Tile.ValueType:
    return common_pb2.Tile.ValueType(tile)
