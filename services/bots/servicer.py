"""BotService: a view to pure values, the choice to a message; ``okey.bots`` says how to play."""

import math
from typing import Any, Final

import grpc

from okey.api.bots.v1 import bots_pb2, bots_pb2_grpc
from okey.bots.choose import answers
from okey.rules.variant import BotLevel
from okey_client.pure import action_message
from okey_runtime.access import AccessTable
from okey_runtime.deadline import timeout_s
from okey_runtime.identity import Role
from services.bots.metrics import ANSWERS
from services.bots.thinking import Thinking
from services.bots.wire import view_from

SERVICE: Final = "okey.api.bots.v1.BotService"

ACCESS: Final = AccessTable.of(SERVICE, {"ChooseAction": {Role.ENGINE}})


class BotServicer(bots_pb2_grpc.BotServiceServicer):
    """Answers from the request alone; it was checked for shape and role before it comes here."""

    def __init__(self) -> None:
        self._thinking = Thinking()

    async def ChooseAction(
        self,
        request: bots_pb2.ChooseActionRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> bots_pb2.ChooseActionResponse:
        """One action for the seat to move, the best for which the call has time."""
        level = BotLevel(request.level or BotLevel.NORMAL)
        series = answers(view_from(request.view), level, request.is_stand_in, request.seed)
        thought = await self._thinking.think(series, _time_left_s)
        ANSWERS.labels(level.name, "COMPLETE" if thought.is_complete else "CUT_SHORT").inc()
        return bots_pb2.ChooseActionResponse(action=action_message(thought.action))


def _time_left_s() -> float:
    return timeout_s(math.inf)
