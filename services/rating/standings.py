"""What players have: one row a player, ladder and season; the newest one counts."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, select, text

from okey.rating import Ladder, Standing, starting_standing
from okey.rules.rule_set import RuleSet
from services.rating.schema import erased_players, history, ratings
from services.rating.seasons import Season, carry_over, read_seasons
from services.rating.section import Section

# What both databases read alike and SQLAlchemy has no common word for. A row that is UNRANKED only
# stands there to be locked.
_ADD_MISSING: Final = text(
    "INSERT INTO ratings (ladder, player_id, season, rating_milli, rated_matches, section)"
    " VALUES (:ladder, :player_id, :season, 0, 0, :section)"
    " ON CONFLICT (ladder, player_id, season) DO NOTHING"
)


@dataclass(frozen=True, slots=True)
class Listed:
    """What a player had after its last rated match of a season, and where it is listed for that."""

    standing: Standing
    season: int
    section: Section


@dataclass(frozen=True, slots=True)
class Entry:
    """What a player has in the running season, and what that comes from.

    ``last`` is of an earlier season until the player enters the running one, and None for who has
    no rated match at all.
    """

    standing: Standing
    last: Listed | None
    season: int
    is_erased: bool
    """Whether the player was taken off the boards for good, on every ladder."""

    @property
    def section(self) -> Section:
        """Where the player is listed in the running season."""
        return Section.UNRANKED if self.last is None or self.is_behind else self.last.section

    @property
    def is_behind(self) -> bool:
        """Whether the player enters the running season with its next rated match."""
        return self.last is not None and self.last.season < self.season


def read_entries(
    connection: Connection, ladders: Iterable[Ladder], player_ids: Sequence[str], rules: RuleSet
) -> dict[Ladder, dict[str, Entry]]:
    """Every player's standing in the running season, by ladder and player.

    Who has not entered it yet has what the soft reset would leave, who never played the starting
    standing.
    """
    wanted = list(ladders)
    rows = connection.execute(
        select(ratings)
        .where(
            ratings.c.ladder.in_(wanted),
            ratings.c.player_id.in_(player_ids),
            # A row without a match only stands there to be locked; one of an erased player is
            # UNRANKED and has some.
            ratings.c.rated_matches > 0,
        )
        .order_by(ratings.c.season)
    )
    newest = {
        (row.ladder, row.player_id): Listed(
            Standing(row.rating_milli, row.rated_matches), row.season, Section(row.section)
        )
        for row in rows
    }
    known, erased = read_seasons(connection), read_erased(connection, player_ids)
    return {
        ladder: {
            one: _entry(newest.get((ladder, one)), known, rules, is_erased=one in erased)
            for one in player_ids
        }
        for ladder in wanted
    }


def read_erased(connection: Connection, player_ids: Collection[str]) -> set[str]:
    """Those of the players who are erased."""
    query = select(erased_players.c.player_id).where(erased_players.c.player_id.in_(player_ids))
    return set(connection.execute(query).scalars())


def is_rated(connection: Connection, player_id: str) -> bool:
    """Whether the player has a rated match of any season."""
    query = select(ratings.c.season).where(
        ratings.c.player_id == player_id, ratings.c.rated_matches > 0
    )
    return connection.execute(query.limit(1)).scalar() is not None


def read_standings(
    connection: Connection, ladder: Ladder, player_ids: Sequence[str], rules: RuleSet
) -> list[Standing]:
    """The players' standings in the running season, in the given order; see ``read_entries``."""
    entries = read_entries(connection, [ladder], player_ids, rules)[ladder]
    return [entries[player_id].standing for player_id in player_ids]


def lock_players(
    connection: Connection, ladders: Sequence[Ladder], player_ids: Sequence[str], season: int
) -> None:
    """Lock the players' rows of the season; missing ones are made, to have one to lock."""
    players = sorted(player_ids)
    connection.execute(
        _ADD_MISSING,
        [
            {
                "ladder": ladder.value,
                "player_id": player_id,
                "season": season,
                "section": Section.UNRANKED.value,
            }
            for player_id in players
            for ladder in sorted(ladders)
        ],
    )
    # SQLite leaves FOR UPDATE out: there one writer has the whole database.
    connection.execute(
        select(ratings.c.player_id)
        .where(
            ratings.c.ladder.in_(ladders),
            ratings.c.player_id.in_(players),
            ratings.c.season == season,
        )
        .order_by(ratings.c.player_id, ratings.c.ladder)
        .with_for_update()
    ).all()


def read_standing_before_forfeit(
    connection: Connection, match_id: str, ladder: Ladder, player_id: str, season: int
) -> Standing:
    """What the player had on the ladder just before it gave the match up (R5).

    Its forfeit is the only change that a quitter has of a match; the schema allows no second one.
    If a season has started since, the soft reset is taken off it too, so that it still compares
    with the ratings of the others.
    """
    row = connection.execute(
        select(history.c.rating_before_milli, history.c.rated_matches, history.c.season).where(
            history.c.match_id == match_id,
            history.c.ladder == ladder,
            history.c.player_id == player_id,
        )
    ).one()
    before = Standing(row.rating_before_milli, row.rated_matches - 1)
    return carry_over(before, row.season, season, read_seasons(connection))


def _entry(
    last: Listed | None, known: Sequence[Season], rules: RuleSet, *, is_erased: bool
) -> Entry:
    running = known[-1].season
    if last is None:
        return Entry(starting_standing(rules), None, running, is_erased)
    standing = carry_over(last.standing, last.season, running, known)
    return Entry(standing, last, running, is_erased)
