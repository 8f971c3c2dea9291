"""RatingService: requests to words, words to answers; the rules stand in ``okey.rating``."""

from collections.abc import AsyncIterator
from typing import Any, Final

import grpc

from okey.api.rating.v1 import rating_pb2, rating_pb2_grpc
from okey.rating import DEFAULT_KEEP_PERCENT, Ladder
from okey_runtime.access import AccessTable
from okey_runtime.clock import Clock
from okey_runtime.identity import Role, current_identity
from services.rating import wire
from services.rating.erasure import Erase
from services.rating.place import PageStart
from services.rating.rulebook import RuleBook
from services.rating.seasons import Season
from services.rating.section import Section
from services.rating.store import RatingStore

SERVICE: Final = "okey.api.rating.v1.RatingService"

_READERS: Final = frozenset({Role.PLAYER, Role.LOBBY, Role.OPERATOR, Role.INTEGRATOR})

ACCESS: Final = AccessTable.of(
    SERVICE,
    {
        "RecordMatch": {Role.ENGINE},
        "RecordForfeit": {Role.ENGINE},
        "GetRating": _READERS,
        "GetRatings": _READERS,
        "ListHistory": _READERS,
        "ListLeaderboard": _READERS,
        "GetRank": _READERS,
        "ListSinks": {Role.OPERATOR},
        "StartSeason": {Role.OPERATOR},
        "ListSeasons": _READERS,
        "RebuildRatings": {Role.OPERATOR},
        "ErasePlayer": {Role.OPERATOR},
    },
    {"GetRatings": 5, "ListHistory": 5, "ListLeaderboard": 5},
)

_DEFAULT_PAGE_SIZE: Final = 50

Context = grpc.aio.ServicerContext[Any, Any]


class RatingServicer(rating_pb2_grpc.RatingServiceServicer):
    """Serves one store; shape and role of a request were checked before."""

    def __init__(self, store: RatingStore, rules: RuleBook, clock: Clock) -> None:
        self._store = store
        self._rules = rules.current
        self._clock = clock

    async def RecordMatch(
        self, request: rating_pb2.RecordMatchRequest, context: Context
    ) -> rating_pb2.RecordMatchResponse:
        """R1..R5 at a match's end."""
        recorded = await self._store.record_match(wire.match_from(request))
        return rating_pb2.RecordMatchResponse(
            changes=wire.changes_to(recorded.changes), sinks=map(wire.sink_to, recorded.sinks)
        )

    async def RecordForfeit(
        self, request: rating_pb2.RecordForfeitRequest, context: Context
    ) -> rating_pb2.RecordForfeitResponse:
        """R5 at once."""
        recorded = await self._store.record_forfeit(wire.forfeit_from(request))
        return rating_pb2.RecordForfeitResponse(
            changes=wire.changes_to(recorded.changes), sinks=map(wire.sink_to, recorded.sinks)
        )

    async def GetRating(
        self, request: rating_pb2.GetRatingRequest, context: Context
    ) -> rating_pb2.GetRatingResponse:
        """One player on every ladder."""
        standings = await self._store.ratings_of(request.player_id)
        return rating_pb2.GetRatingResponse(
            ratings=[
                wire.rating_to(request.player_id, ladder, standing, self._rules)
                for ladder, standing in standings.items()
            ]
        )

    async def GetRatings(
        self, request: rating_pb2.GetRatingsRequest, context: Context
    ) -> rating_pb2.GetRatingsResponse:
        """Many players on one ladder."""
        ladder = Ladder(request.ladder)
        standings = await self._store.ratings_on(ladder, request.player_ids)
        return rating_pb2.GetRatingsResponse(
            ratings=[
                wire.rating_to(player_id, ladder, standing, self._rules)
                for player_id, standing in zip(request.player_ids, standings, strict=True)
            ]
        )

    async def ListHistory(
        self, request: rating_pb2.ListHistoryRequest, context: Context
    ) -> rating_pb2.ListHistoryResponse:
        """A page of changes."""
        page = await self._store.history_of(
            Ladder(request.ladder),
            request.player_id,
            wire.history_token_from(request.page_token),
            request.page_size or _DEFAULT_PAGE_SIZE,
        )
        return wire.history_to(page)

    async def ListLeaderboard(
        self, request: rating_pb2.ListLeaderboardRequest, context: Context
    ) -> rating_pb2.ListLeaderboardResponse:
        """A page of the board, from a place or around a player."""
        ladder = Ladder(request.ladder)
        size = request.page_size or _DEFAULT_PAGE_SIZE
        if request.HasField("around_player_id"):
            page = await self._store.page_around(
                ladder, request.around_player_id, size, request.season
            )
        elif request.page_token:
            start = PageStart.of_token(request.page_token)
            start.check(ladder, request.section, request.season)
            page = await self._store.page(
                ladder, start.section, start.place, size, start.board.season
            )
        else:
            section = Section(request.section or Section.ESTABLISHED)
            page = await self._store.page(ladder, section, None, size, request.season)
        return wire.board_to(page, ladder, self._rules)

    async def GetRank(
        self, request: rating_pb2.GetRankRequest, context: Context
    ) -> rating_pb2.GetRankResponse:
        """A player's place."""
        ladder = Ladder(request.ladder)
        rank = await self._store.rank(ladder, request.player_id, request.season)
        return wire.rank_to(rank, ladder, self._rules)

    async def ListSinks(
        self, request: rating_pb2.ListSinksRequest, context: Context
    ) -> rating_pb2.ListSinksResponse:
        """What did not sum to zero."""
        totals = await self._store.sink_totals()
        return rating_pb2.ListSinksResponse(totals=map(wire.sink_to, totals))

    async def StartSeason(
        self, request: rating_pb2.StartSeasonRequest, context: Context
    ) -> rating_pb2.StartSeasonResponse:
        """The running season ends, the next one starts."""
        has_share = request.HasField("keep_percent")
        season = Season(
            season=request.season,
            name=request.name,
            keep_percent=request.keep_percent if has_share else DEFAULT_KEEP_PERCENT,
            towards_milli=self._rules.rating_start,
            started_ms=self._clock.now_ms(),
            started_by=current_identity().subject,
        )
        started = await self._store.start_season(season)
        return rating_pb2.StartSeasonResponse(season=wire.season_to(started))

    async def ListSeasons(
        self, request: rating_pb2.ListSeasonsRequest, context: Context
    ) -> rating_pb2.ListSeasonsResponse:
        """All of them."""
        seasons = await self._store.list_seasons()
        return rating_pb2.ListSeasonsResponse(seasons=map(wire.season_to, seasons))

    async def RebuildRatings(
        self, request: rating_pb2.RebuildRatingsRequest, context: Context
    ) -> AsyncIterator[rating_pb2.RebuildRatingsResponse]:
        """Everything recomputed, as it goes on."""
        async for message in self._store.rebuild(repair=request.repair):
            for answer in wire.rebuild_to(message):
                yield answer

    async def ErasePlayer(
        self, request: rating_pb2.ErasePlayerRequest, context: Context
    ) -> rating_pb2.ErasePlayerResponse:
        """The player is on no board any more."""
        erased = await self._store.erase(
            Erase(
                player_id=request.player_id,
                actor=current_identity().subject,
                reason=request.reason,
                now_ms=self._clock.now_ms(),
                allow_unknown=request.allow_unknown,
            )
        )
        return rating_pb2.ErasePlayerResponse(changed=erased.changed, places=erased.places)
