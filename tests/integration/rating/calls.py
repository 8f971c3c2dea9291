"""A running rating service, and what it is told in its tests."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import pytest
from pydantic import SecretStr

from okey.api.common.v1 import common_pb2
from okey.api.rating.v1 import rating_pb2, rating_pb2_grpc
from okey_runtime.channel import open_channel
from okey_runtime.clock import VirtualClock
from okey_runtime.config import Environment
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.rating.app import RatingApp
from services.rating.settings import RatingSettings
from tests.fixtures.issuer import Issuer

TABLE = "a" * 26
MATCH = f"{TABLE}-1"
Stub = rating_pb2_grpc.RatingServiceStub
StubOf = Callable[[Role], Stub]


@pytest.fixture
async def stub_of(tmp_path: Path) -> AsyncIterator[StubOf]:
    """A running rating service, as callers of any role see it."""
    clock = VirtualClock()
    issuer = Issuer(tmp_path, clock)
    settings = RatingSettings(
        environment=Environment.TEST,
        database_url=SecretStr(f"sqlite:///{tmp_path / 'rating.db'}"),
        jwks_file=issuer.jwks_file,
        stop_grace_ms=0,
    )
    channels: list[grpc.aio.Channel] = []

    async with ServiceServer(RatingApp(settings), clock) as server:

        def stub(role: Role) -> Stub:
            channel = open_channel(
                server.address, token=issuer.metadata("caller", role, to="rating")
            )
            channels.append(channel)
            return rating_pb2_grpc.RatingServiceStub(channel)

        yield stub
        for channel in channels:
            await channel.close()


def a_match(
    *, winner: int = 0, seats: list[rating_pb2.MatchSeat] | None = None, match_id: str = MATCH
) -> rating_pb2.RecordMatchRequest:
    """Ada and Bo in Çanak."""
    return rating_pb2.RecordMatchRequest(
        table_id=TABLE,
        match_id=match_id,
        variant=common_pb2.VARIANT_CANAK,
        mode=common_pb2.MODE_NORMAL,
        seats=seats or [rating_pb2.MatchSeat(player_id=player) for player in ("ada", "bo")],
        result=rating_pb2.MatchResult(canak_win=rating_pb2.CanakWin(winner_seat=winner)),
        ended_ms=1_700_000_000_000,
    )


def a_forfeit() -> rating_pb2.RecordForfeitRequest:
    """Bo gives up."""
    return rating_pb2.RecordForfeitRequest(
        match_id=MATCH,
        variant=common_pb2.VARIANT_CANAK,
        seat=1,
        player_id="bo",
        forfeited_ms=1_600_000_000_000,
    )
