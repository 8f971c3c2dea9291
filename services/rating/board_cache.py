"""A copy of a board in Redis: read and brought up to date by scripts, each one step.

Keys, all of a board in one cluster slot:

- ``okey:{board:<season>:<ladder>}:1``      sorted set of the established players, by rating
- ``okey:{board:<season>:<ladder>}:2``      sorted set of the provisional ones
- ``okey:{board:<season>:<ladder>}:facts``  hash: ``#epoch`` and ``#version`` of the state that the
  copy is of, and each player's rated matches
- ``okey:{board:<season>:<ladder>}:making``  stands while a replica makes a new copy; that one is in
  three keys as above, which go away by themselves

A copy answers only for the state that the database is in, or a later one. It never was right by
luck: what it is of stands in it, so one that was lost, restored or half dropped answers nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from redis.asyncio import Redis
from redis.typing import EncodableT

from okey.rating import Standing
from services.rating.board_state import Stamp, Stand
from services.rating.counting import Board
from services.rating.place import BoardPage, NotRanked, Place, Rank, RankedPlayer
from services.rating.section import Section

_SCRIPTS: Final = Path(__file__).with_name("scripts")
_EPOCH: Final = "#epoch"
_VERSION: Final = "#version"
_KEEP_S: Final = 60
"""How long a copy that nobody goes on making stays, and keeps others from making one."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some players of a section in order: ``rank`` is the first one's, ``first`` its index."""

    section: Section
    players: int
    rank: int
    first: int
    found: list[tuple[str, Standing]]

    def page(self, board: Board, size: int) -> BoardPage:
        """The first ``size`` of them as a page; one more tells that there is a next page."""
        entries: list[RankedPlayer] = []
        rank = self.rank
        for position, (player_id, standing) in enumerate(self.found[:size]):
            if entries and entries[-1].standing.rating_milli != standing.rating_milli:
                rank = self.first + position + 1
            entries.append(RankedPlayer(rank, player_id, standing))
        following = None
        if len(self.found) > size:
            last = entries[-1]
            following = Place(last.standing.rating_milli, last.player_id)
        return BoardPage(board.season, self.section, tuple(entries), following)


class BoardCache:
    """The copies of all boards. Every method raises ``redis.exceptions.RedisError``."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._apply, self._read, self._swap = (
            redis.register_script((_SCRIPTS / f"{name}.lua").read_text("utf-8"))
            for name in ("apply", "read", "swap")
        )

    async def stamp(self, board: Board) -> Stamp | None:
        """Which state the copy is of; None if there is none."""
        epoch, version = await self._redis.hmget(_keys(board)[2], [_EPOCH, _VERSION])
        if epoch is None or version is None or not version.isdigit():
            return None
        try:
            return Stamp(_text(epoch), int(version))
        except ValueError:
            # Nothing that this service has written.
            return None

    async def apply(
        self, board: Board, since: Stamp, now: Stamp, stands: Sequence[Stand], copy: str = ""
    ) -> None:
        """Bring a copy from one state to the next; another one than ``since`` is left as it is."""
        values: list[EncodableT] = [
            value
            for stand in stands
            for value in (
                stand.player_id,
                stand.section.value,
                stand.standing.rating_milli,
                stand.standing.rated_matches,
            )
        ]
        stamps: list[EncodableT] = [since.epoch, since.version, now.version]
        await self._apply(keys=_keys(board, copy), args=[*stamps, *values])

    async def page(
        self, board: Board, least: Stamp, section: Section, start: Place | None, size: int
    ) -> BoardPage | None:
        """The page after a place, or the first one; None if the copy cannot answer."""
        how = ("top", "", 0) if start is None else ("after", start.player_id, start.rating_milli)
        stretch = await self._stretch(board, least, section, size, how)
        return None if stretch is None else stretch.page(board, size)

    async def page_around(
        self, board: Board, least: Stamp, player_id: str, size: int
    ) -> BoardPage | None:
        """The page around a player; None if the copy cannot answer. Raises ``NotRanked``."""
        how = ("around", player_id, 0)
        stretch = await self._stretch(board, least, Section.UNRANKED, size, how)
        return None if stretch is None else stretch.page(board, size)

    async def rank(self, board: Board, least: Stamp, player_id: str) -> Rank | None:
        """The player's place; None if the copy cannot answer. Raises ``NotRanked``."""
        how = ("around", player_id, 0)
        stretch = await self._stretch(board, least, Section.UNRANKED, 1, how)
        if stretch is None:
            return None
        entry = stretch.page(board, 1).entries[0]
        return Rank(board.season, entry, stretch.section, stretch.players)

    async def is_whole(self, board: Board) -> bool:
        """Whether no key of a copy is missing: a server short of memory drops single ones."""
        established, provisional, facts = _keys(board)
        async with self._redis.pipeline(transaction=True) as steps:
            steps.zcard(established)
            steps.zcard(provisional)
            steps.hlen(facts)
            counts = await steps.execute()
        return bool(counts[0] + counts[1] + 2 == counts[2])

    async def begin_copy(self, board: Board, copy: str, stamp: Stamp) -> bool:
        """Begin a copy beside the live one; False while another replica makes one."""
        if not await self._redis.set(_making(board), copy, nx=True, ex=_KEEP_S):
            return False
        facts = _keys(board, copy)[2]
        await self._redis.hset(facts, mapping={_EPOCH: stamp.epoch, _VERSION: stamp.version})
        await self._redis.expire(facts, _KEEP_S)
        return True

    async def fill_copy(self, board: Board, copy: str, stands: Sequence[Stand]) -> None:
        """Add some players, none twice, to a copy that was begun."""
        *sections, facts = _keys(board, copy)
        async with self._redis.pipeline(transaction=False) as steps:
            for section, key in zip(
                (Section.ESTABLISHED, Section.PROVISIONAL), sections, strict=True
            ):
                scores = {
                    stand.player_id: -stand.standing.rating_milli
                    for stand in stands
                    if stand.section is section
                }
                if scores:
                    steps.zadd(key, scores)
            steps.hset(
                facts, mapping={stand.player_id: stand.standing.rated_matches for stand in stands}
            )
            for key in (*sections, facts, _making(board)):
                steps.expire(key, _KEEP_S)
            await steps.execute()

    async def finish_copy(self, board: Board, copy: str) -> None:
        """Put a copy in the live one's place."""
        await self._swap(keys=[*_keys(board), *_keys(board, copy)])
        await self._redis.delete(_making(board))

    async def drop(self, board: Board) -> None:
        """Forget the copy of a board that changes no more."""
        await self._redis.unlink(*_keys(board))

    async def _stretch(
        self, board: Board, least: Stamp, section: Section, size: int, how: tuple[str, str, int]
    ) -> Stretch | None:
        answer: list[Any] = await self._read(
            keys=_keys(board), args=[least.epoch, least.version, section.value, size, *how]
        )
        if not answer:
            return None
        if answer == [0]:
            raise NotRanked.on(how[1], board.ladder, board.season)
        number, players, rank, first, *flat = answer
        try:
            found = [
                (_text(player), Standing(-int(float(score)), int(matches)))
                for player, score, matches in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
            ]
        except (ValueError, TypeError, OverflowError):
            # Nothing that this service has written.
            return None
        return Stretch(Section(number), players, rank, first, found)


def _making(board: Board) -> str:
    return f"{_prefix(board)}making"


def _prefix(board: Board) -> str:
    return f"okey:{{board:{board.season}:{board.ladder.name.lower()}}}:"


def _keys(board: Board, copy: str = "") -> list[str]:
    prefix = _prefix(board) + copy
    return [
        f"{prefix}{Section.ESTABLISHED.value}",
        f"{prefix}{Section.PROVISIONAL.value}",
        f"{prefix}facts",
    ]


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode()
