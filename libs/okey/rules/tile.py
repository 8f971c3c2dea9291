"""Tiles, their notation, and what the gösterge makes of them (T1, T4, T5, T6)."""

from collections import Counter
from collections.abc import Iterable
from enum import Enum, IntEnum
from typing import Final

from okey.errors import InvalidInput, quoted

HIGHEST_NUMBER: Final = 13


class MalformedTile(InvalidInput):
    """A text is not the notation of a tile (T1)."""

    reason = "MALFORMED_TILE"


class NoFace(InvalidInput):
    """A sahte okey has a colour and a number only once the okey is known (T6)."""

    reason = "NO_FACE"


class NotAGosterge(InvalidInput):
    """Only a number tile can be the gösterge (T3)."""

    reason = "NOT_A_GOSTERGE"


class NotAnOkey(InvalidInput):
    """Only a number tile can be the okey (T4)."""

    reason = "NOT_AN_OKEY"


class Colour(Enum):
    """The four colours, in the order of the tile values; the value is their letter (T1)."""

    RED = "R"
    YELLOW = "Y"
    BLUE = "B"
    BLACK = "K"


class Tile(IntEnum):
    """One of the 53 kinds of tile (T1); two of each kind make the set.

    The values are those of the protobuf enum ``okey.api.common.v1.Tile``: 1..52 for the number
    tiles by colour and number, 53 for the sahte okey. A real okey is written as its plain tile.
    """

    R1 = 1
    R2 = 2
    R3 = 3
    R4 = 4
    R5 = 5
    R6 = 6
    R7 = 7
    R8 = 8
    R9 = 9
    R10 = 10
    R11 = 11
    R12 = 12
    R13 = 13
    Y1 = 14
    Y2 = 15
    Y3 = 16
    Y4 = 17
    Y5 = 18
    Y6 = 19
    Y7 = 20
    Y8 = 21
    Y9 = 22
    Y10 = 23
    Y11 = 24
    Y12 = 25
    Y13 = 26
    B1 = 27
    B2 = 28
    B3 = 29
    B4 = 30
    B5 = 31
    B6 = 32
    B7 = 33
    B8 = 34
    B9 = 35
    B10 = 36
    B11 = 37
    B12 = 38
    B13 = 39
    K1 = 40
    K2 = 41
    K3 = 42
    K4 = 43
    K5 = 44
    K6 = 45
    K7 = 46
    K8 = 47
    K9 = 48
    K10 = 49
    K11 = 50
    K12 = 51
    K13 = 52
    S = 53

    @classmethod
    def parse(cls, text: str) -> "Tile":
        """The tile written as ``text``, as in R7 or S (T1). Raises ``MalformedTile``."""
        tile = cls.__members__.get(text)
        if tile is None:
            raise MalformedTile(
                f"{quoted(text)} is no tile: write R, Y, B or K and 1..13 as in 'R7', or 'S' (T1)"
            )
        return tile

    @property
    def is_number_tile(self) -> bool:
        """Whether it carries a colour and a number of its own, that is, is no sahte okey."""
        return self is not Tile.S

    @property
    def colour(self) -> Colour:
        """The colour of a number tile. Raises ``NoFace`` for a sahte okey (T6)."""
        return _COLOURS[self._face_index() // HIGHEST_NUMBER]

    @property
    def number(self) -> int:
        """The number 1..13 of a number tile. Raises ``NoFace`` for a sahte okey (T6)."""
        return self._face_index() % HIGHEST_NUMBER + 1

    def _face_index(self) -> int:
        if self is Tile.S:
            raise NoFace("S has no colour or number of its own: ask face_of(tile, okey) (T6)")
        return self - 1

    def __str__(self) -> str:
        return self.name


_COLOURS: Final = tuple(Colour)

NUMBER_TILES: Final = tuple(tile for tile in Tile if tile.is_number_tile)
"""The 52 kinds of number tile, in the order of their values."""

FULL_SET: Final = tuple(tile for tile in Tile for _copy in range(2))
"""All 106 tiles, in the order of their values, copies side by side (T1)."""


def tile_of(colour: Colour, number: int) -> Tile:
    """The number tile of ``colour`` and ``number`` 1..13; raises ``MalformedTile`` for others."""
    return Tile.parse(f"{colour.value}{number}")


def parse_rack(text: str) -> tuple[Tile, ...]:
    """Tiles written one after another with white space between, in that order.

    Raises ``MalformedTile`` and names the offending word (T1).
    """
    return tuple(Tile.parse(word) for word in text.split())


def rack_text(tiles: Iterable[Tile]) -> str:
    """The notation of ``tiles``; ``parse_rack`` reads it back."""
    return " ".join(map(str, tiles))


def okey_of(gosterge: Tile) -> Tile:
    """The okey that ``gosterge`` names: the next number of its colour, 13 -> 1 (T4).

    Raises ``NotAGosterge`` for a sahte okey (T3).
    """
    if gosterge is Tile.S:
        raise NotAGosterge("S cannot be the gösterge: it is always a number tile (T3)")
    return tile_of(gosterge.colour, gosterge.number % HIGHEST_NUMBER + 1)


def face_of(tile: Tile, okey: Tile) -> Tile | None:
    """The number tile that ``tile`` counts as, or None where it is wild (T5, T6).

    A real okey is wild: it stands for any tile. A sahte okey is exactly the okey's colour and
    number.
    """
    if tile == okey:
        return None
    return okey if tile == Tile.S else tile


def without(tiles: Iterable[Tile], gone: Iterable[Tile]) -> tuple[Tile, ...]:
    """``tiles`` in order, less the first copy of each of ``gone``; absent ones are passed over."""
    to_go = Counter(gone)
    left = []
    for tile in tiles:
        if to_go[tile] > 0:
            to_go[tile] -= 1
        else:
            left.append(tile)
    return tuple(left)
