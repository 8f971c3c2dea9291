"""Ranks and pages: from the copy in Redis where it is up to date, else from the database.

The database says with each question which state the board is in. A copy that is a little behind is
brought up to date first, with who has changed since; one that is lost or far behind answers
nothing, and is made anew in the background. So every answer is as right as the database's own.
"""

import secrets
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from redis.exceptions import RedisError, ResponseError

from okey.rating import Ladder
from okey_runtime.background import repeat
from okey_runtime.clock import Clock
from okey_runtime.database import Database, Isolation
from okey_runtime.logging import get_logger
from services.rating import board_state
from services.rating.board_cache import BoardCache
from services.rating.board_state import Stamp, Stand
from services.rating.counting import Board
from services.rating.metrics import (
    BOARD_CACHE_UP,
    BOARD_READS,
    BOARD_REBUILD_SECONDS,
    BOARD_REBUILDS,
)
from services.rating.place import BoardPage, Place, Rank
from services.rating.seasons import find_season
from services.rating.section import Section
from services.rating.store import RatingStore

_ROUND_MS: Final = 1_000
_ROUNDS_TO_FORGET: Final = 60
_READER_PLAYERS: Final = 500
"""So many players may have changed since a copy's state for a reader to bring it up to date."""
_KEEPER_PLAYERS: Final = 5_000
"""So many for the background to do that; with more of them a new copy is made."""
_BATCH: Final = 2_000

_log = get_logger(__name__)

T = TypeVar("T")
Ask = Callable[[BoardCache, Board, Stamp], Awaitable[T | None]]


class Leaderboard:
    """Ranks and pages; without ``cache`` the database answers alone."""

    def __init__(
        self, store: RatingStore, database: Database, cache: BoardCache | None, clock: Clock
    ) -> None:
        self._store = store
        self._database = database
        self._cache = cache
        self._clock = clock
        self._season = 0
        self._rounds = 0
        # Until the first round has looked, nobody waits for a Redis that may be away.
        self._is_up = False
        BOARD_CACHE_UP.set(0)

    async def page(
        self, ladder: Ladder, section: Section, start: Place | None, size: int, season: int = 0
    ) -> BoardPage:
        """A page of a board; see ``RatingStore.page``."""
        copied: BoardPage | None = await self._from_copy(
            ladder,
            season,
            lambda cache, board, now: cache.page(board, now, section, start, size),
        )
        return copied or await self._store.page(ladder, section, start, size, season)

    async def page_around(
        self, ladder: Ladder, player_id: str, size: int, season: int = 0
    ) -> BoardPage:
        """The page around a player; see ``RatingStore.page_around``."""
        copied: BoardPage | None = await self._from_copy(
            ladder,
            season,
            lambda cache, board, now: cache.page_around(board, now, player_id, size),
        )
        return copied or await self._store.page_around(ladder, player_id, size, season)

    async def rank(self, ladder: Ladder, player_id: str, season: int = 0) -> Rank:
        """A player's place; see ``RatingStore.rank``."""
        copied: Rank | None = await self._from_copy(
            ladder, season, lambda cache, board, now: cache.rank(board, now, player_id)
        )
        return copied or await self._store.rank(ladder, player_id, season)

    async def run(self) -> None:
        """Keep the copies for as long as the service lives."""
        await repeat("boards", self.keep, _ROUND_MS, self._clock)

    async def keep(self) -> None:
        """Bring every copy of the running season up to date, or make it anew.

        A Redis that is away is tried again in the next round; until then the database answers.
        Raises ``DatabaseAway``, ``DatabaseBusy``.
        """
        season = await self._database.read(lambda connection: find_season(connection, 0).season)
        if self._rounds % _ROUNDS_TO_FORGET == 0:
            await self._database.transact(board_state.forget_old_changes, Isolation.READ_COMMITTED)
        self._rounds += 1
        if self._cache is None:
            return
        try:
            if season != self._season:
                for ladder in Ladder:
                    await self._cache.drop(Board(season - 1, ladder))
                self._season = season
            for ladder in Ladder:
                await self._keep(self._cache, Board(season, ladder))
            self._set_up(True)
        except RedisError as error:
            self._set_up(False, error)

    async def _from_copy(self, ladder: Ladder, season: int, ask: Ask[T]) -> T | None:
        """The copy's answer, None where the database has to be asked."""
        # Page tokens name the running season too.
        if season not in (0, self._season):
            BOARD_READS.labels("database", "named season").inc()
            return None
        if self._cache is None or not self._is_up:
            BOARD_READS.labels("database", "no redis").inc()
            return None
        board = Board(self._season, ladder)
        answer: T | None = None
        try:
            now = await self._catch_up(self._cache, board, _READER_PLAYERS)
            if now is not None:
                answer = await ask(self._cache, board, now)
        except RedisError as error:
            self._set_up(False, error)
        source, why = ("database", "stale") if answer is None else ("redis", "current")
        BOARD_READS.labels(source, why).inc()
        return answer

    async def _catch_up(self, cache: BoardCache, board: Board, limit: int) -> Stamp | None:
        """Bring the copy to the database's state, if it is not far from it; which state that is.

        None too if the board's season is over: then its copy answers nothing any more.
        """
        copied = await cache.stamp(board)
        if copied is None:
            return None
        now, changed = await self._changed(board, copied, limit)
        if changed is None:
            return None
        if changed:
            await cache.apply(board, copied, now, changed)
        return now

    async def _keep(self, cache: BoardCache, board: Board) -> None:
        try:
            is_current = await self._catch_up(cache, board, _KEEPER_PLAYERS) is not None
            is_whole = is_current and await cache.is_whole(board)
        except ResponseError:
            # Something else stands under the copy's keys; the new copy takes their place.
            is_whole = False
        if not is_whole:
            await self._remake(cache, board)

    async def _remake(self, cache: BoardCache, board: Board) -> None:
        """Copy a board anew beside the live copy, and put it in that one's place.

        The players are read in many small transactions while matches go on. So who has changed
        since the first one is set once more at the end, all in one state: that is the copy's.
        """
        started_ms = self._clock.monotonic_ms()
        copy = f"{secrets.token_hex(8)}:"
        since = await self._database.read(lambda each: board_state.read_stamp(each, board))
        if not await cache.begin_copy(board, copy, since):
            return
        last = ""
        while stands := await self._everybody(board, last):
            await cache.fill_copy(board, copy, stands)
            last = stands[-1].player_id
        now, changed = await self._changed(board, since, board_state.KEPT_VERSIONS * 4)
        for start in range(0, len(changed or ()), _BATCH):
            await cache.apply(board, since, since, (changed or [])[start : start + _BATCH], copy)
        if changed is not None:
            await cache.apply(board, since, now, [], copy)
            await cache.finish_copy(board, copy)
            BOARD_REBUILDS.labels(board.ladder.name).inc()
            BOARD_REBUILD_SECONDS.observe((self._clock.monotonic_ms() - started_ms) / 1000)

    async def _changed(
        self, board: Board, since: Stamp, limit: int
    ) -> tuple[Stamp, list[Stand] | None]:
        return await self._database.read(
            lambda connection: board_state.read_changed(connection, board, since, limit)
        )

    async def _everybody(self, board: Board, after: str) -> list[Stand]:
        return await self._database.read(
            lambda connection: board_state.read_everybody(connection, board, after, _BATCH)
        )

    def _set_up(self, is_up: bool, error: RedisError | None = None) -> None:
        if is_up and not self._is_up:
            _log.info("boards_are_read_from_redis")
        if self._is_up and not is_up:
            _log.warning("boards_are_read_from_the_database", error=str(error))
        self._is_up = is_up
        BOARD_CACHE_UP.set(is_up)
