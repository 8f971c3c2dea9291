"""Which tile an easy or a normal bot gives away: one that keeps the hand as near as it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from okey.bots.outlook import Outlook
from okey.rules.tile import HIGHEST_NUMBER, Tile, face_of, without
from okey.rules.variant import BotLevel

_NEXT_IN_COLOUR = 3
_ONE_GAP_AWAY = 2
_SAME_NUMBER = 3
_HELD_TWICE = -2


@dataclass(frozen=True, slots=True)
class _Option:
    """Giving ``tile`` away: the 14 that stay, and how far they are from either form."""

    tile: Tile
    rest: tuple[Tile, ...]
    to_normal: int
    to_cift: int


def choose_discard(outlook: Outlook, level: BotLevel, seed: int) -> Tile:
    """The tile of the 15 to discard; never an okey while there is another, nor one that the finish
    needs.

    Among equals EASY takes any, NORMAL the tile with the fewest useful neighbours. What is left is
    decided by the seed.
    """
    options = _nearest(_options(outlook), outlook, level)
    if len(options) == 1:
        return options[0].tile
    return min(
        options, key=lambda option: (*_rank(option, outlook, level), lot(seed, option.tile))
    ).tile


def _options(outlook: Outlook) -> list[_Option]:
    candidates = sorted(set(outlook.rack) - {outlook.okey}) or [outlook.okey]
    options = []
    for tile in candidates:
        rest = without(outlook.rack, (tile,))
        options.append(_Option(tile, rest, outlook.to_normal(rest), outlook.to_cift(rest)))
    return options


def _nearest(options: list[_Option], outlook: Outlook, level: BotLevel) -> list[_Option]:
    """The options that leave the hand nearest to a finish; an EASY bot sees pairs only if bound."""

    def distance(option: _Option) -> int:
        if outlook.has_announced:
            return option.to_cift
        if level is BotLevel.EASY:
            return option.to_normal
        return min(option.to_normal, option.to_cift)

    least = min(map(distance, options))
    return [option for option in options if distance(option) == least]


def _rank(option: _Option, outlook: Outlook, level: BotLevel) -> tuple[int, ...]:
    """Ranks options that leave the hand equally near; the lowest is done."""
    if level is BotLevel.EASY:
        return ()
    if outlook.has_announced:
        return (_usefulness(option, outlook),)
    return (option.to_normal, option.to_cift, _usefulness(option, outlook))


def _usefulness(option: _Option, outlook: Outlook) -> int:
    """What the tile could still become: a pair while çift is announced, else part of a meld."""
    if outlook.has_announced:
        return outlook.unseen[option.tile]
    return neighbours(option.tile, option.rest, outlook.okey)


def neighbours(tile: Tile, rest: Sequence[Tile], okey: Tile) -> int:
    """How much the tiles that stay would help this one to become part of a meld; okeys help every
    tile alike.
    """
    face = face_of(tile, okey)
    if face is None:
        return 0
    return sum(_help(face, other) for held in rest if (other := face_of(held, okey)) is not None)


def _help(face: Tile, other: Tile) -> int:
    if face is other:
        return _HELD_TWICE
    if face.number == other.number:
        return _SAME_NUMBER
    if face.colour is not other.colour:
        return 0
    return {1: _NEXT_IN_COLOUR, 2: _ONE_GAP_AWAY}.get(apart(face.number, other.number), 0)


def apart(number: int, other: int) -> int:
    """How far two numbers of a colour are from each other; the 1 also stands after the 13 (H3)."""
    between = abs(number - other)
    return min(between, HIGHEST_NUMBER - between) if 1 in (number, other) else between


def lot(seed: int, tile: Tile) -> int:
    """A number that orders tiles of equal worth, different from seed to seed."""
    return int.from_bytes(blake2b(f"{seed}:{int(tile)}".encode(), digest_size=8).digest())
