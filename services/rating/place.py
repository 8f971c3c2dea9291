"""What a board is read as: places, ranks, pages."""

import base64
import json
from dataclasses import dataclass

from okey.errors import InvalidInput, NotFound
from okey.rating import Ladder, Standing
from okey_runtime.identity import SUBJECT_PATTERN
from services.rating.counting import Board
from services.rating.section import Section


class NotRanked(NotFound):
    """The player has no rated match on the ladder in the season, so no place either."""

    reason = "NOT_RANKED"

    @classmethod
    def on(cls, player_id: str, ladder: Ladder, season: int) -> "NotRanked":
        """The error about a player, a ladder and a season."""
        return cls(
            f"player {player_id!r} has no rated match on ladder {ladder.name} in season {season}"
        )


class PageTokenMalformed(InvalidInput):
    """A page token that this service never gave out."""

    reason = "PAGE_TOKEN_MALFORMED"


class PageTokenOfAnotherBoard(InvalidInput):
    """A page token of another ladder, section or season than the request names."""

    reason = "PAGE_TOKEN_OF_ANOTHER_BOARD"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page goes on: after this rating and player, in the board's order."""

    rating_milli: int
    player_id: str


@dataclass(frozen=True, slots=True)
class PageStart:
    """Where a walk over a board goes on: on which board, in which section, after which place."""

    board: Board
    section: Section
    place: Place

    def token(self) -> str:
        """The start as opaque text for a page token."""
        board, place = self.board, self.place
        numbers = (board.season, board.ladder, self.section, place.rating_milli)
        text = json.dumps([*map(int, numbers), place.player_id])
        return base64.urlsafe_b64encode(text.encode()).decode()

    @classmethod
    def of_token(cls, token: str) -> "PageStart":
        """The start that ``token`` stands for, or ``PageTokenMalformed``."""
        try:
            *numbers, player_id = json.loads(base64.urlsafe_b64decode(token.encode()))
            season, ladder, section, rating_milli = numbers
            # Neither a truth value, which counts as a whole number, nor text that no player id is.
            if any(type(number) is not int for number in numbers):
                raise ValueError(f"{numbers}: not whole numbers")
            if not (0 < season < 2**31 and section and abs(rating_milli) < 2**62):
                raise ValueError(f"{numbers}: out of range")
            if not SUBJECT_PATTERN.fullmatch(player_id):
                raise ValueError(f"{player_id!r}: no player id")
            start = cls(
                Board(season, Ladder(ladder)), Section(section), Place(rating_milli, player_id)
            )
        except (ValueError, TypeError) as error:
            raise PageTokenMalformed(
                f"page_token {token!r}: send next_page_token as it came"
            ) from error
        return start

    def check(self, ladder: Ladder, section: int, season: int) -> None:
        """Raise ``PageTokenOfAnotherBoard`` if a request names another board; 0 names none."""
        mine = (self.board.ladder, self.section, self.board.season)
        if (ladder, section or self.section, season or self.board.season) != mine:
            raise PageTokenOfAnotherBoard(
                f"page_token is of ladder {self.board.ladder.name}, section {self.section.name}, "
                f"season {self.board.season}: name these or leave section and season unset, "
                "or start without a token"
            )


@dataclass(frozen=True, slots=True)
class RankedPlayer:
    """A player on a board; equal ratings share a rank."""

    rank: int
    player_id: str
    standing: Standing


@dataclass(frozen=True, slots=True)
class BoardPage:
    """A stretch of one section of a season's board, highest first; ``next_place`` is None on the
    last page.
    """

    season: int
    section: Section
    entries: tuple[RankedPlayer, ...]
    next_place: Place | None


@dataclass(frozen=True, slots=True)
class Rank:
    """A player's place in its section of a season's board, and how many stand in it."""

    season: int
    entry: RankedPlayer
    section: Section
    players: int
