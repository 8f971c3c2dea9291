"""Recomputing everything from the events: what is stored must be the same.

Three steps: the events rated anew (``rerating``); every player's changes as one chain, from the
starting rating to the stored one; the counts of the boards. Nothing is kept in memory but a page
of each, so that it takes no more of it for a million players than for ten.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from sqlalchemy import Connection, Row, Table, and_, delete, func, insert, select

from okey.rating import ChangeKind, Ladder, Standing, starting_standing
from okey.rules.rule_set import RuleSet
from services.rating.counting import LEVELS, Board, recount, true_counts
from services.rating.difference import Difference, DifferenceKind, Progress, Tell, tell_nobody
from services.rating.framing import compare_ends
from services.rating.old_copies import outdate
from services.rating.rerating import rerate
from services.rating.rulebook import RuleBook
from services.rating.schema import board_counts, history, ratings, records
from services.rating.seasons import Season, carry_over, close_reports, read_seasons
from services.rating.section import Section, section_of
from services.rating.standings import read_erased

_PLAYERS: Final = 500
SHOWN: Final = 1_000
"""So many differences are told; the others are counted."""

_SECTIONS: Final = {section.value: section.name for section in Section}

_Row = Row[*tuple[object, ...]]
_Key = tuple[int, str, int]


@dataclass(slots=True)
class Rebuilt:
    """What a rebuild came to."""

    records: int = 0
    changes: int = 0
    ratings: int = 0
    found: int = 0
    mended: int = 0
    differences: list[Difference] = field(default_factory=list)

    def note(self, differences: Iterator[Difference]) -> None:
        """Count differences, and keep the first ones."""
        for difference in differences:
            self.found += 1
            if len(self.differences) < SHOWN:
                self.differences.append(difference)


@dataclass(frozen=True, slots=True)
class _True:
    """What a stored rating should be."""

    standing: Standing
    section: Section


def rebuild(
    connection: Connection, rules: RuleBook, *, repair: bool, tell: Tell = tell_nobody
) -> Rebuilt:
    """Compare everything; with ``repair`` set what is derived to what the events give.

    A repair keeps reports out until its transaction ends.
    """
    if repair:
        close_reports(connection)
    result = Rebuilt(
        records=_count(connection, records),
        changes=_count(connection, history),
        ratings=_count(connection, ratings),
    )
    ends = list(compare_ends(connection, repair=repair))
    result.note(iter(ends))
    if repair:
        result.mended += len(ends)
    result.note(rerate(connection, rules, tell))
    result.note(_Chains(connection, rules, result, repair).compare(tell))
    known = [Board(each.season, ladder) for each in read_seasons(connection) for ladder in Ladder]
    for done, board in enumerate(known):
        tell(Progress("counts", done, len(known)))
        result.note(_compare_counts(connection, board))
        if repair:
            recount(connection, board)
    if repair:
        outdate(connection, known)
    tell(Progress("counts", len(known), len(known)))
    return result


class _Chains:
    """The second step: each player's changes on a ladder, from the first to the stored rating."""

    def __init__(
        self, connection: Connection, rules: RuleBook, result: Rebuilt, repair: bool
    ) -> None:
        self._connection = connection
        self._rules = rules
        self._result = result
        self._repair = repair
        self._seasons: Sequence[Season] = read_seasons(connection)

    def compare(self, tell: Tell) -> Iterator[Difference]:
        """Go through all ladders and players."""
        done = 0
        for ladder in Ladder:
            last = ""
            while players := self._players(ladder, last):
                yield from self._compare_players(ladder, last, players[-1])
                done += len(players)
                last = players[-1]
                tell(Progress("ratings", done, self._result.ratings))

    def _players(self, ladder: Ladder, after: str) -> Sequence[str]:
        """The next players with a rating or a change."""
        pages = [
            self._connection.execute(
                select(table.c.player_id)
                .where(table.c.ladder == ladder, table.c.player_id > after)
                .distinct()
                .order_by(table.c.player_id)
                .limit(_PLAYERS)
            )
            .scalars()
            .all()
            for table in (ratings, history)
        ]
        # A player beyond a page that is full comes with the next one.
        full = [page[-1] for page in pages if len(page) == _PLAYERS]
        end = min(full, default=None)
        return sorted({one for page in pages for one in page if end is None or one <= end})

    def _compare_players(self, ladder: Ladder, after: str, last: str) -> Iterator[Difference]:
        changes = self._rows(history, ladder, after, last)
        stored = {
            (row.player_id, row.season): row for row in self._rows(ratings, ladder, after, last)
        }
        truth: dict[tuple[str, int], _True] = {}
        for player_id, chain in groupby(changes, key=lambda row: str(row.player_id)):
            yield from self._follow(ladder, player_id, list(chain), truth)
        erased = read_erased(self._connection, {player_id for player_id, _ in truth})
        truth = {
            key: replace(true, section=Section.UNRANKED) if key[0] in erased else true
            for key, true in truth.items()
        }
        for player_id, season in sorted(truth.keys() | stored.keys()):
            key = (ladder.value, player_id, season)
            true = truth.get((player_id, season), _True(Standing(0, 0), Section.UNRANKED))
            yield from self._compare_rating(key, true, stored.get((player_id, season)))

    def _rows(self, table: Table, ladder: Ladder, after: str, last: str) -> Sequence[_Row]:
        """Rows of some players, each player's in order."""
        within = and_(
            table.c.ladder == ladder, table.c.player_id > after, table.c.player_id <= last
        )
        query = select(table).where(within)
        if table is history:
            query = select(table, records.c.rules_version).join(records).where(within)
        order = table.c.season if table is ratings else table.c.change_no
        return self._connection.execute(query.order_by(table.c.player_id, order)).all()

    def _follow(
        self,
        ladder: Ladder,
        player_id: str,
        chain: Sequence[_Row],
        truth: dict[tuple[str, int], _True],
    ) -> Iterator[Difference]:
        """Each change must start where the one before ended, and a season with its reset.

        After a difference it goes on from what is stored, so that one is told once.
        """
        number, season = 0, chain[0].season
        standing = starting_standing(self._rules_of(chain[0]))
        for change in chain:
            for kind, expected, actual in self._checks(change, number, season, standing):
                if expected != actual:
                    yield Difference(
                        kind=kind,
                        subject=f"{player_id}: change {change.change_no}",
                        match_id=change.match_id or "",
                        ladder=ladder,
                        season=change.season,
                        expected=expected,
                        actual=actual,
                    )
            number, season = change.change_no, change.season
            standing = Standing(
                change.rating_before_milli + change.delta_milli, change.rated_matches
            )
            section = section_of(standing, self._rules_of(change))
            truth[player_id, season] = _True(standing, section)

    def _checks(
        self, change: _Row, number: int, season: int, standing: Standing
    ) -> Iterator[tuple[DifferenceKind, int, int]]:
        """What must be equal in a change that follows number, season and standing of the last."""
        is_reset = change.kind == ChangeKind.SEASON_RESET
        yield DifferenceKind.CHAIN, number + 1, change.change_no
        yield DifferenceKind.CHAIN, standing.rating_milli, change.rating_before_milli
        matches = standing.rated_matches + (not is_reset)
        yield DifferenceKind.RATED_MATCHES, matches, change.rated_matches
        if is_reset:
            carried = carry_over(standing, season, change.season, self._seasons)
            lost = carried.rating_milli - standing.rating_milli
            yield DifferenceKind.RESET, lost, change.delta_milli
        else:
            yield DifferenceKind.RESET, season, change.season

    def _rules_of(self, change: _Row) -> RuleSet:
        """The rules of a change; that nobody knows them has been told with its event."""
        version: str = change.rules_version
        return self._rules.of(version) if self._rules.knows(version) else self._rules.current

    def _compare_rating(self, key: _Key, true: _True, row: _Row | None) -> Iterator[Difference]:
        """Compare one stored rating, and mend it if that is asked for."""
        section = Section.UNRANKED.value if row is None else row.section
        if section == true.section == Section.UNRANKED:
            return
        milli, matches = (0, 0) if row is None else (row.rating_milli, row.rated_matches)
        ladder, player_id, season = key
        checks = (
            (DifferenceKind.RATING, true.standing.rating_milli, milli),
            (DifferenceKind.RATED_MATCHES, true.standing.rated_matches, matches),
            (DifferenceKind.SECTION, true.section.value, section),
        )
        is_right = True
        for kind, expected, actual in checks:
            if expected != actual:
                is_right = False
                yield Difference(
                    kind=kind,
                    subject=player_id,
                    ladder=Ladder(ladder),
                    season=season,
                    expected=expected,
                    actual=actual,
                )
        if self._repair and not is_right:
            self._mend(key, true)

    def _mend(self, key: _Key, true: _True) -> None:
        self._result.mended += 1
        names = ("ladder", "player_id", "season")
        same = [ratings.c[name] == value for name, value in zip(names, key, strict=True)]
        self._connection.execute(delete(ratings).where(*same))
        self._connection.execute(
            insert(ratings).values(
                **dict(zip(names, key, strict=True)),
                rating_milli=true.standing.rating_milli,
                rated_matches=true.standing.rated_matches,
                section=true.section.value,
            )
        )


def _compare_counts(connection: Connection, board: Board) -> Iterator[Difference]:
    """The third step: a board's counts must be what counting one by one gives."""
    for level in range(LEVELS):
        stored = select(*board_counts.c).where(
            board_counts.c.season == board.season,
            board_counts.c.ladder == board.ladder,
            board_counts.c.level == level,
        )
        true = true_counts(board, level)
        found: dict[tuple[int, int], list[int]] = {}
        for place, query in enumerate((true.except_(stored), stored.except_(true))):
            for row in connection.execute(query):
                found.setdefault((row.section, row.bucket), [0, 0])[place] = row.players
        for (section, bucket), (expected, actual) in sorted(found.items()):
            yield Difference(
                kind=DifferenceKind.COUNT,
                subject=f"{_SECTIONS.get(section, section)}: level {level}, bucket {bucket}",
                ladder=board.ladder,
                season=board.season,
                expected=expected,
                actual=actual,
            )


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()
