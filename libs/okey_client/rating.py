"""Ratings, as players and gateways read them."""

from collections.abc import AsyncIterator, Sequence

import grpc

from okey.api.rating.v1 import rating_pb2, rating_pb2_grpc
from okey_client.calls import Calls


class RatingClient:
    """Reading ratings, in milli-points; every refused call raises ``RpcFailure``."""

    def __init__(self, channel: grpc.aio.Channel, calls: Calls) -> None:
        self._stub = rating_pb2_grpc.RatingServiceStub(channel)
        self._calls = calls

    async def of(self, player_id: str) -> Sequence[rating_pb2.Rating]:
        """A player's rating on every ladder."""
        request = rating_pb2.GetRatingRequest(player_id=player_id)
        return (await self._calls.unary(self._stub.GetRating, request)).ratings

    async def leaderboard(
        self, ladder: rating_pb2.Ladder.ValueType
    ) -> AsyncIterator[rating_pb2.RankedRating]:
        """A ladder's players, highest first, page after page."""
        request = rating_pb2.ListLeaderboardRequest(ladder=ladder)
        while True:
            page = await self._calls.unary(self._stub.ListLeaderboard, request)
            for entry in page.entries:
                yield entry
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
