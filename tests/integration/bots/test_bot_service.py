"""BotService as the engine meets it: over gRPC, with a token."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from okey.api.bots.v1 import bots_pb2, bots_pb2_grpc
from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.bots.choose import choose
from okey.rules.variant import BotLevel
from okey.table.legal import LegalAction
from okey_client.pure import action_message
from okey_runtime.channel import open_channel
from okey_runtime.codec import encode
from okey_runtime.config import Environment, ServiceSettings
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.bots.app import BotsApp
from tests.fixtures.issuer import Issuer
from tests.unit.bots.views import view

RACK = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1"
SIX_PAIRS = "R1 R1 R3 R3 Y5 Y5 Y7 Y7 B9 B9 B11 B11"


class Bots:
    """The service, as callers of any role see it."""

    def __init__(self, address: str, issuer: Issuer) -> None:
        self._address = address
        self._issuer = issuer

    async def choose(
        self, request: bots_pb2.ChooseActionRequest, role: Role = Role.ENGINE
    ) -> table_pb2.Action:
        async with open_channel(
            self._address, token=self._issuer.metadata("caller", role, to="bots")
        ) as channel:
            stub = bots_pb2_grpc.BotServiceStub(channel)
            return (await stub.ChooseAction(request)).action

    async def refusal(
        self, request: bots_pb2.ChooseActionRequest, role: Role = Role.ENGINE
    ) -> RpcFailure:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.choose(request, role)
        return from_rpc_error(caught.value)


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Bots]:
    issuer = Issuer(folder)
    settings = ServiceSettings(
        environment=Environment.TEST, jwks_file=issuer.jwks_file, stop_grace_ms=0
    )
    async with ServiceServer(BotsApp(settings)) as server:
        yield Bots(server.address, issuer)


@pytest.fixture
async def bots(tmp_path: Path) -> AsyncIterator[Bots]:
    async with running(tmp_path) as service:
        yield service


def request(
    rack: str,
    legal: list[LegalAction] | None = None,
    *,
    level: BotLevel | None = None,
    is_stand_in: bool = False,
    takeable: str | None = None,
    announced: bool = False,
) -> bots_pb2.ChooseActionRequest:
    seen = view(rack, legal, takeable=takeable, announced=announced)
    return bots_pb2.ChooseActionRequest(
        view=encode(seen, table_pb2.TableView),
        level=common_pb2.BotLevel.ValueType(level or 0),
        is_stand_in=is_stand_in,
        seed=-7,
    )


L = LegalAction


@pytest.mark.parametrize(
    ("rack", "legal", "takeable", "announced", "case"),
    [
        (RACK, None, None, False, "draw_from_stock"),
        (RACK, None, "R8", False, "draw_from_discard"),
        (RACK + " R1", [L.DISCARD], None, False, "discard"),
        (RACK + " R1", [L.DISCARD, L.FINISH], None, False, "finish"),
        (SIX_PAIRS + " K13 B2", [L.DRAW_STOCK, L.ANNOUNCE_CIFT], None, False, "announce_cift"),
        (RACK + " R1", [L.DISCARD, L.WITHDRAW_CIFT], None, True, "withdraw_cift"),
        ("R7 " + RACK[:-3], [L.DRAW_STOCK, L.SHOW_GOSTERGE], None, False, "show_gosterge"),
    ],
)
async def test_answers_with_every_kind_of_action(
    bots: Bots,
    rack: str,
    legal: list[LegalAction] | None,
    takeable: str | None,
    announced: bool,
    case: str,
) -> None:
    asked = request(rack, legal, takeable=takeable, announced=announced)
    action = await bots.choose(asked)
    assert action.WhichOneof("action") == case
    seen = view(rack, legal, takeable=takeable, announced=announced)
    assert action == action_message(choose(seen, BotLevel.NORMAL, False, -7))


async def test_level_and_stand_in_count(bots: Bots) -> None:
    """U8: the request says whether the bot only minds the seat."""
    won = f"{RACK} R1"
    assert (await bots.choose(request(won))).HasField("finish")
    assert (await bots.choose(request(won, is_stand_in=True))).HasField("discard")
    far = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 R13 Y9"
    easy = await bots.choose(request(far, takeable="K13", level=BotLevel.EASY))
    assert easy.HasField("draw_from_stock")
    assert (await bots.choose(request(far, takeable="K13"))).HasField("draw_from_discard")


async def test_every_replica_gives_the_same_answer(bots: Bots, tmp_path: Path) -> None:
    asked = request(f"{RACK[:-3]} R1 R10", [L.DISCARD], level=BotLevel.EASY)
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    async with running(other_folder) as other:
        assert await bots.choose(asked) == await other.choose(asked)


async def test_refuses_what_it_cannot_play(bots: Bots) -> None:
    not_to_move = request(RACK)
    not_to_move.view.round.turn.seat = 1
    failure = await bots.refusal(not_to_move)
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.FAILED_PRECONDITION,
        "NOT_TO_MOVE",
    )
    unreadable = request(RACK)
    unreadable.view.round.gosterge = common_pb2.TILE_UNSPECIFIED
    failure = await bots.refusal(unreadable)
    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "VIEW_MALFORMED")
    elsewhere = request(RACK)
    elsewhere.view.viewer = elsewhere.view.round.turn.seat = 77
    failure = await bots.refusal(elsewhere)
    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "VIEW_MALFORMED")
    failure = await bots.refusal(bots_pb2.ChooseActionRequest())
    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ENGINE])
async def test_only_the_engine_may_ask(bots: Bots, role: Role) -> None:
    failure = await bots.refusal(request(RACK), role)
    assert (failure.code, failure.reason) == (grpc.StatusCode.PERMISSION_DENIED, "ROLE_REFUSED")
