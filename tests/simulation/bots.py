"""A bot worker for the simulation: it plays what a simple client would, at no cost."""

from typing import Any

from okey.api.bots.v1 import bots_pb2, bots_pb2_grpc
from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.rules.tile import Tile
from okey_runtime.access import AccessTable
from okey_runtime.identity import Role
from tests.chaos.tables.board import Board
from tests.simulation.clock import SimulatedClock
from tests.simulation.loop import SimulatedLoop
from tests.simulation.network import Network, Server, call_interceptor

_SERVICE = "okey.api.bots.v1.BotService"
_ACCESS = AccessTable.of(_SERVICE, {"ChooseAction": {Role.ENGINE}})

A = table_pb2.LegalAction


class SimpleBots(bots_pb2_grpc.BotServiceServicer):
    """Draws, finishes if it can, and lays off its loneliest tile."""

    async def ChooseAction(
        self, request: bots_pb2.ChooseActionRequest, context: Any
    ) -> bots_pb2.ChooseActionResponse:
        """An action for the seat."""
        board = Board()
        board.look(request.view)
        if A.LEGAL_ACTION_DRAW_STOCK in board.legal:
            action = table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock())
        else:
            laid = board.winning_tile() if A.LEGAL_ACTION_FINISH in board.legal else None
            if laid is not None:
                action = table_pb2.Action(finish=table_pb2.Finish(tile=_face(laid)))
            else:
                lone = board.loneliest_tile()
                action = table_pb2.Action(discard=table_pb2.Discard(tile=_face(lone)))
        return bots_pb2.ChooseActionResponse(action=action)


def serve_bots(loop: SimulatedLoop, network: Network) -> None:
    """A worker that nothing befalls."""
    server: Any = Server(loop.process("bots"), call_interceptor(_ACCESS, SimulatedClock(loop)))
    bots_pb2_grpc.add_BotServiceServicer_to_server(SimpleBots(), server)
    server.is_open = True
    network.listen("bots", server)


def _face(tile: Tile) -> common_pb2.Tile.ValueType:
    return common_pb2.Tile.ValueType(tile)
