"""The rating database: every question and every report is one transaction."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final

from sqlalchemy import Connection

from okey.rating import Ladder, Standing, starting_standing
from okey_runtime.database import Database, Isolation
from services.rating import history, ranking, rebuild, recording, seasons, standings
from services.rating.counting import Board
from services.rating.difference import Progress
from services.rating.erasure import Erase, Erased, erase
from services.rating.history import HistoryPage
from services.rating.metrics import RECORDED
from services.rating.place import BoardPage, Place, Rank
from services.rating.rebuild import Rebuilt
from services.rating.record import ForfeitRecord, MatchRecord, Recorded, SinkAmount
from services.rating.rulebook import RuleBook
from services.rating.seasons import Season
from services.rating.section import Section

# Enough, because recording locks its players before it reads anything of them.
_WRITES = Isolation.READ_COMMITTED
_PROGRESS_KEPT: Final = 16


class RatingStore:
    """Ratings on SQLite or PostgreSQL; ``rules`` are those by which matches are played.

    All methods raise ``DatabaseAway`` and ``DatabaseBusy``; a report may then be sent again. Where
    a season is asked for, 0 is the running one, and one that never was raises ``SeasonUnknown``.
    """

    def __init__(self, database: Database, rules: RuleBook) -> None:
        self._database = database
        self._rules = rules

    async def record_match(self, record: MatchRecord) -> Recorded:
        """Rate a match once; see ``recording.record_match``."""
        recorded = await self._database.transact(
            lambda connection: recording.record_match(connection, record, self._rules), _WRITES
        )
        RECORDED.labels("match" if recorded.changes else "unrated match").inc()
        return recorded

    async def record_forfeit(self, record: ForfeitRecord) -> Recorded:
        """Take the price of giving up once; see ``recording.record_forfeit``."""
        recorded = await self._database.transact(
            lambda connection: recording.record_forfeit(connection, record, self._rules), _WRITES
        )
        RECORDED.labels("forfeit").inc()
        return recorded

    async def start_season(self, wanted: Season) -> Season:
        """Start the next season once; see ``seasons.start_season``."""
        return await self._database.transact(
            lambda connection: seasons.start_season(connection, wanted), _WRITES
        )

    async def list_seasons(self) -> list[Season]:
        """Every season, the newest first."""
        return (await self._database.read(seasons.read_seasons))[::-1]

    async def ratings_on(self, ladder: Ladder, player_ids: Sequence[str]) -> list[Standing]:
        """The players' standings on one ladder, in the given order."""
        rules = self._rules.current

        def read(connection: Connection) -> list[Standing]:
            erased = standings.read_erased(connection, player_ids)
            shown = standings.read_standings(connection, ladder, player_ids, rules)
            start = starting_standing(rules)
            return [
                start if player_id in erased else standing
                for player_id, standing in zip(player_ids, shown, strict=True)
            ]

        return await self._database.read(read)

    async def ratings_of(self, player_id: str) -> dict[Ladder, Standing]:
        """One player's standing on every ladder."""
        rules = self._rules.current

        def read(connection: Connection) -> dict[Ladder, Standing]:
            if standings.read_erased(connection, [player_id]):
                return dict.fromkeys(Ladder, starting_standing(rules))
            entries = standings.read_entries(connection, Ladder, [player_id], rules)
            return {ladder: of_ladder[player_id].standing for ladder, of_ladder in entries.items()}

        return await self._database.read(read)

    async def history_of(
        self, ladder: Ladder, player_id: str, before: int | None, size: int
    ) -> HistoryPage:
        """A page of a player's changes, newest first; none of one that is erased."""

        def read(connection: Connection) -> HistoryPage:
            if standings.read_erased(connection, [player_id]):
                return HistoryPage((), None)
            return history.read_history(connection, ladder, player_id, before, size)

        return await self._database.read(read)

    async def page(
        self, ladder: Ladder, section: Section, start: Place | None, size: int, season: int = 0
    ) -> BoardPage:
        """A page of the leaderboard."""
        return await self._database.read(
            lambda connection: ranking.read_page(
                connection, _board(connection, ladder, season), section, start, size
            )
        )

    async def page_around(
        self, ladder: Ladder, player_id: str, size: int, season: int = 0
    ) -> BoardPage:
        """The page of the leaderboard around a player, or ``NotRanked``."""
        return await self._database.read(
            lambda connection: ranking.read_page_around(
                connection, _board(connection, ladder, season), player_id, size
            )
        )

    async def rank(self, ladder: Ladder, player_id: str, season: int = 0) -> Rank:
        """A player's place, or ``NotRanked``."""
        return await self._database.read(
            lambda connection: ranking.read_rank(
                connection, _board(connection, ladder, season), player_id
            )
        )

    async def rebuild(self, *, repair: bool) -> AsyncIterator[Progress | Rebuilt]:
        """Recompute everything; progress while it goes on, the result last."""
        loop = asyncio.get_running_loop()
        told: asyncio.Queue[Progress] = asyncio.Queue(_PROGRESS_KEPT)

        def put(progress: Progress) -> None:
            if not told.full():
                told.put_nowait(progress)

        def tell(progress: Progress) -> None:
            loop.call_soon_threadsafe(put, progress)

        def work(connection: Connection) -> Rebuilt:
            return rebuild.rebuild(connection, self._rules, repair=repair, tell=tell)

        running = asyncio.create_task(
            self._database.transact(work, _WRITES) if repair else self._database.read(work)
        )
        while not (running.done() and told.empty()):
            waiting = asyncio.create_task(told.get())
            await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                yield waiting.result()
            else:
                waiting.cancel()
        yield await running

    async def erase(self, asked: Erase) -> Erased:
        """Take a player off the boards for good; see ``erasure.erase``."""
        return await self._database.transact(lambda connection: erase(connection, asked), _WRITES)

    async def sink_totals(self) -> Sequence[SinkAmount]:
        """What did not sum to zero, by ladder and sink (R5)."""
        return await self._database.read(history.read_sink_totals)


def _board(connection: Connection, ladder: Ladder, season: int) -> Board:
    return Board(seasons.find_season(connection, season).season, ladder)
