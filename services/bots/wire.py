"""Views and actions as protobuf messages, and back."""

from typing import assert_never

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.errors import InvalidInput
from okey.table import commands
from okey.table.commands import Action, DrawSource
from okey.table.view import TableView
from okey_runtime.codec import UndecodableMessage, decode


class ViewMalformed(InvalidInput):
    """A view holds what no engine of this version would send."""

    reason = "VIEW_MALFORMED"


def view_from(message: table_pb2.TableView) -> TableView:
    """The seat's view.

    Raises:
        ViewMalformed: an enum is unspecified or unknown where a value is needed.
    """
    try:
        return decode(TableView, message)
    except UndecodableMessage as error:
        raise ViewMalformed(f"the view cannot be read: {error}") from error


def action_to(action: Action) -> table_pb2.Action:
    """The action as the engine takes it."""
    match action:
        case commands.Draw(DrawSource.STOCK):
            return table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock())
        case commands.Draw():
            return table_pb2.Action(draw_from_discard=table_pb2.DrawFromDiscard())
        case commands.Discard(tile):
            return table_pb2.Action(discard=table_pb2.Discard(tile=common_pb2.Tile.ValueType(tile)))
        case commands.Finish(tile):
            return table_pb2.Action(finish=table_pb2.Finish(tile=common_pb2.Tile.ValueType(tile)))
        case commands.AnnounceCift():
            return table_pb2.Action(announce_cift=table_pb2.AnnounceCift())
        case commands.WithdrawCift():
            return table_pb2.Action(withdraw_cift=table_pb2.WithdrawCift())
        case commands.ShowGosterge():
            return table_pb2.Action(show_gosterge=table_pb2.ShowGosterge())
        case _:
            assert_never(action)
