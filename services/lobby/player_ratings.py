"""Players' ratings, by which quick match finds fair matches."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import grpc

from okey.api.rating.v1 import rating_pb2, rating_pb2_grpc
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Variant
from okey_runtime.channel import timeout_s
from okey_runtime.errors import from_rpc_error
from okey_runtime.outage import Outage
from services.lobby.metrics import RATINGS_MISSED

IDEMPOTENT: Final = ("/okey.api.rating.v1.RatingService/GetRatings",)
START_MILLI: Final = DEFAULT_RULE_SET.rating_start
"""What everybody starts with (R1)."""

_CALL_S: Final = 1.0
_LADDERS: Final = {
    Variant.CANAK: rating_pb2.LADDER_CANAK,
    Variant.KLASIK: rating_pb2.LADDER_KLASIK,
}


class PlayerRatings(Protocol):
    """Who plays how well."""

    async def of(self, players: Sequence[str], variant: Variant) -> Mapping[str, int]:
        """Each player's rating on the variant's ladder, in milli-points."""
        ...


class RatingService:
    """``PlayerRatings`` of the rating service, asked over a channel with the lobby's own token.

    Where it does not answer everybody counts as a beginner: matches go on, less even for a while.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._ratings = rating_pb2_grpc.RatingServiceStub(channel)
        self._outage = Outage("rating_for_quick_match", grpc.aio.AioRpcError)

    async def of(self, players: Sequence[str], variant: Variant) -> Mapping[str, int]:
        """GetRatings; for at most 200 players, none twice."""
        request = rating_pb2.GetRatingsRequest(player_ids=players, ladder=_LADDERS[variant])
        try:
            with self._outage.asking():
                answer = await self._ratings.GetRatings(request, timeout=timeout_s(_CALL_S))
        except grpc.aio.AioRpcError as error:
            RATINGS_MISSED.labels(from_rpc_error(error).code.name).inc()
            return dict.fromkeys(players, START_MILLI)
        return {rating.player_id: rating.rating_milli for rating in answer.ratings}
