"""Opponents that do not plan ahead: what a bot has to beat to be worth playing against."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from okey.rules.finish import FinishRejected, judge_finish
from okey.rules.tile import HIGHEST_NUMBER, Tile, face_of, without
from okey.rules.variant import BotLevel
from okey.table.commands import Action, Discard, Draw, DrawSource, Finish
from okey.table.legal import LegalAction
from okey.table.view import RoundView, TableView

_ONE_AWAY: Final = 3
_TWO_AWAY: Final = 2
_OTHER_COLOUR: Final = 3
_HELD_TWICE: Final = -2
_WORTH_TAKING: Final = 5


def play_randomly(view: TableView, _level: BotLevel, _is_stand_in: bool, seed: int) -> Action:
    """Draws from where it may, and discards, at random; finishes when it can, announces nothing."""
    played = _round_of(view)
    finish = _finish(view, played)
    if finish is not None:
        return finish
    if LegalAction.DISCARD in view.legal_actions:
        return Discard(min(played.rack, key=lambda tile: _lot(seed, tile)))
    sources = [DrawSource.STOCK] if LegalAction.DRAW_STOCK in view.legal_actions else []
    if LegalAction.DRAW_DISCARD in view.legal_actions:
        sources.append(DrawSource.DISCARD)
    return Draw(min(sources, key=lambda source: _lot(seed, source)))


def play_by_neighbours(view: TableView, _level: BotLevel, _is_stand_in: bool, seed: int) -> Action:
    """Keeps tiles with neighbours, see ``score``; finishes when it can, announces nothing.

    It discards the tile that scores least, never an okey while it has another, ties by the seed. It
    takes a tile from the pile if that is an okey, or scores enough and is not held.
    """
    played = _round_of(view)
    finish = _finish(view, played)
    if finish is not None:
        return finish
    if LegalAction.DISCARD in view.legal_actions:
        others = [tile for tile in played.rack if tile is not played.okey] or played.rack
        return Discard(min(others, key=lambda tile: _least_first(tile, played, seed)))
    is_taking = LegalAction.DRAW_DISCARD in view.legal_actions and (
        LegalAction.DRAW_STOCK not in view.legal_actions or _is_worth_taking(played)
    )
    return Draw(DrawSource.DISCARD if is_taking else DrawSource.STOCK)


def score(tile: Tile, others: Sequence[Tile], okey: Tile) -> int:
    """What a tile that is no okey is worth beside the others held: 3 for each tile of its colour
    one number away and 2 for two away, 3 for each other colour of its number, -2 if it is held
    twice.

    The 1 also counts as 14 (H3); a sahte okey is the okey's face (T6); okeys have no neighbours.
    """
    face = face_of(tile, okey)
    assert face is not None, "an okey is kept, not scored"
    faces = [other for each in others if (other := face_of(each, okey)) is not None]
    beside = {1: _ONE_AWAY, 2: _TWO_AWAY}
    in_colour = sum(
        beside.get(_apart(face.number, other.number), 0)
        for other in faces
        if other.colour is face.colour
    )
    colours = {other.colour for other in faces if other.number == face.number} - {face.colour}
    return in_colour + _OTHER_COLOUR * len(colours) + (_HELD_TWICE if face in faces else 0)


def _apart(number: int, other: int) -> int:
    apart = abs(number - other)
    return min(apart, HIGHEST_NUMBER - apart) if 1 in (number, other) else apart


def _least_first(tile: Tile, played: RoundView, seed: int) -> tuple[int, int]:
    is_okey = tile is played.okey
    own = 0 if is_okey else score(tile, without(played.rack, (tile,)), played.okey)
    return own, _lot(seed, tile)


def _is_worth_taking(played: RoundView) -> bool:
    tile = played.takeable
    if tile is None or tile is played.okey:
        return tile is not None
    is_held = face_of(tile, played.okey) in {face_of(each, played.okey) for each in played.rack}
    return not is_held and score(tile, played.rack, played.okey) >= _WORTH_TAKING


def _finish(view: TableView, played: RoundView) -> Finish | None:
    """The finish that lays the tile with the least number, if any does."""
    if LegalAction.FINISH not in view.legal_actions:
        return None
    for laid in sorted(set(played.rack)):
        try:
            judge_finish(played.rack, laid, played.okey, announced=False)
        except FinishRejected:
            continue
        return Finish(laid)
    return None


def _round_of(view: TableView) -> RoundView:
    assert view.round is not None, "a bot is asked in its own turn"
    return view.round


def _lot(seed: int, ticket: int) -> int:
    """A number that orders tickets, differently from seed to seed."""
    return int.from_bytes(blake2b(f"{seed}:{int(ticket)}".encode(), digest_size=8).digest())
