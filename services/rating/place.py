"""What a board is read as: places, ranks, pages."""

import base64
import binascii
import json
from dataclasses import dataclass

from okey.errors import InvalidInput, NotFound
from okey.rating import Ladder, Standing
from okey_runtime.identity import SUBJECT_PATTERN
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


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page goes on: after this rating and player, in the board's order."""

    rating_milli: int
    player_id: str

    def token(self) -> str:
        """The place as opaque text for a page token."""
        text = json.dumps([self.rating_milli, self.player_id])
        return base64.urlsafe_b64encode(text.encode()).decode()

    @classmethod
    def of_token(cls, token: str) -> "Place":
        """The place that ``token`` stands for, or ``PageTokenMalformed``."""
        try:
            rating_milli, player_id = json.loads(base64.urlsafe_b64decode(token.encode()))
        except (ValueError, TypeError, binascii.Error) as error:
            raise PageTokenMalformed(f"page_token {token!r}: send next_page_token") from error
        # Neither a truth value, which counts as a whole number, nor text that no player id is.
        if type(rating_milli) is not int or not -(2**62) < rating_milli < 2**62:
            raise PageTokenMalformed(f"page_token {token!r}: send next_page_token as it came")
        if not (isinstance(player_id, str) and SUBJECT_PATTERN.fullmatch(player_id)):
            raise PageTokenMalformed(f"page_token {token!r}: send next_page_token as it came")
        return cls(rating_milli, player_id)


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
