"""The rating database: every question and every report is one transaction."""

from collections.abc import Sequence

from okey.rating import Ladder, Standing
from okey.rules.rule_set import RuleSet
from okey_runtime.database import Database, Isolation
from services.rating import history, ranking, recording
from services.rating.history import HistoryPage
from services.rating.ranking import BoardPage, Place, Rank, Section
from services.rating.record import ForfeitRecord, MatchRecord, Recorded, SinkAmount

# Enough, because recording locks its players before it reads anything of them.
_WRITES = Isolation.READ_COMMITTED


class RatingStore:
    """Ratings on SQLite or PostgreSQL; ``rules`` are those of every ladder.

    All methods raise ``DatabaseAway`` and ``DatabaseBusy``; a report may then be sent again.
    """

    def __init__(self, database: Database, rules: RuleSet) -> None:
        self._database = database
        self._rules = rules

    async def record_match(self, record: MatchRecord) -> Recorded:
        """Rate a match once; see ``recording.record_match``."""
        return await self._database.transact(
            lambda connection: recording.record_match(connection, record, self._rules), _WRITES
        )

    async def record_forfeit(self, record: ForfeitRecord) -> Recorded:
        """Take the price of giving up once; see ``recording.record_forfeit``."""
        return await self._database.transact(
            lambda connection: recording.record_forfeit(connection, record, self._rules), _WRITES
        )

    async def ratings_on(self, ladder: Ladder, player_ids: Sequence[str]) -> list[Standing]:
        """The players' standings on one ladder, in the given order."""
        return await self._database.read(
            lambda connection: ranking.read_standings(connection, ladder, player_ids, self._rules)
        )

    async def ratings_of(self, player_id: str) -> dict[Ladder, Standing]:
        """One player's standing on every ladder."""
        return await self._database.read(
            lambda connection: {
                ladder: ranking.read_standings(connection, ladder, [player_id], self._rules)[0]
                for ladder in Ladder
            }
        )

    async def history_of(
        self, ladder: Ladder, player_id: str, before: int | None, size: int
    ) -> HistoryPage:
        """A page of a player's changes, newest first."""
        return await self._database.read(
            lambda connection: history.read_history(connection, ladder, player_id, before, size)
        )

    async def page(
        self, ladder: Ladder, section: Section, start: Place | None, size: int
    ) -> BoardPage:
        """A page of the leaderboard."""
        return await self._database.read(
            lambda connection: ranking.read_page(connection, ladder, section, start, size)
        )

    async def page_around(self, ladder: Ladder, player_id: str, size: int) -> BoardPage:
        """The page of the leaderboard around a player, or ``NotRanked``."""
        return await self._database.read(
            lambda connection: ranking.read_page_around(connection, ladder, player_id, size)
        )

    async def rank(self, ladder: Ladder, player_id: str) -> Rank:
        """A player's place, or ``NotRanked``."""
        return await self._database.read(
            lambda connection: ranking.read_rank(connection, ladder, player_id)
        )

    async def sink_totals(self) -> Sequence[SinkAmount]:
        """What did not sum to zero, by ladder and sink (R5)."""
        return await self._database.read(history.read_sink_totals)
