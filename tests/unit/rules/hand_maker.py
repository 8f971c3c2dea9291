"""Hands for the differential tests: random, nearly won, full of okeys, and made to mislead."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from okey.rules.tile import FULL_SET, NUMBER_TILES, Tile, okey_of, parse_rack
from tests import oracle

LABELLED: Final = Path(__file__).parents[2] / "data" / "hands.jsonl"

Hand = tuple[tuple[Tile, ...], Tile]
"""14 tiles and the okey."""


def labelled_hands() -> list[Hand]:
    """The 1,000 hands of tests/data/hands.jsonl, half of them won."""
    lines = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    return [
        (parse_rack(" ".join(line["tiles"])), okey_of(Tile.parse(line["gosterge"])))
        for line in lines
    ]


def hands(seed: int, count: int) -> Iterator[Hand]:
    """``count`` hands, always the same for a seed."""
    rng = Random(seed)
    kinds = (random_hand, near_win, near_win, near_cift, two_okeys, trap)
    for index in range(count):
        tiles, okey = kinds[index % len(kinds)](rng)
        yield tuple(rng.sample(tiles, len(tiles))), okey


def random_hand(rng: Random) -> Hand:
    """14 tiles of a real set."""
    okey = okey_of(rng.choice(NUMBER_TILES))
    return tuple(rng.sample(FULL_SET, 14)), okey


def near_win(rng: Random) -> Hand:
    """A won hand in which none, one or two tiles were exchanged; often with an okey or two."""
    okey = rng.choice(NUMBER_TILES)
    tiles = won_tiles(rng)
    for _exchange in range(rng.choice((0, 0, 1, 1, 2))):
        tiles[rng.randrange(14)] = rng.choice(FULL_SET)
    return with_okeys(rng, tiles, okey, rng.choice((0, 0, 1, 2)))


def near_cift(rng: Random) -> Hand:
    """Seven pairs in which none, one or two tiles were exchanged; often with an okey or two."""
    okey = rng.choice(NUMBER_TILES)
    tiles = [tile for tile in rng.choices(NUMBER_TILES, k=7) for _copy in range(2)]
    for _exchange in range(rng.choice((0, 1, 2))):
        tiles[rng.randrange(14)] = rng.choice(FULL_SET)
    return with_okeys(rng, tiles, okey, rng.choice((0, 1, 2)))


def two_okeys(rng: Random) -> Hand:
    """A won hand with two okeys, or one with one tile exchanged."""
    okey = rng.choice(NUMBER_TILES)
    tiles = won_tiles(rng)
    tiles[0] = rng.choice((tiles[0], rng.choice(FULL_SET)))
    return with_okeys(rng, tiles, okey, 2)


def with_okeys(rng: Random, tiles: list[Tile], okey: Tile, count: int) -> Hand:
    """The hand with ``count`` okeys in any places but the first, all others of that face sahte."""
    hand = [Tile.S if tile == okey else tile for tile in tiles]
    for place in rng.sample(range(1, 14), count):
        hand[place] = okey
    return tuple(hand), okey


def trap(rng: Random) -> Hand:
    """Few neighbouring numbers around the 13 and the 1, in few colours, with sahte okeys."""
    first, width = rng.choice((0, 9, 10, 11, 12)), rng.choice((3, 4, 5))
    colours = rng.sample(oracle.COLOURS, rng.choice((2, 3, 4)))
    near = [
        Tile(oracle.cell(colour, number % 13) + 1)
        for colour in colours
        for number in range(first, first + width)
    ]
    okey = rng.choice(NUMBER_TILES)
    tiles = [*rng.choices(near, k=13), rng.choice((Tile.S, rng.choice(near)))]
    return with_okeys(rng, tiles, okey, rng.choice((0, 0, 1, 2)))


def won_tiles(rng: Random) -> list[Tile]:
    """The tiles of random melds of 14 places together, in any number of copies."""
    cells: list[int] = []
    while len(cells) < 14:
        meld = rng.choice(oracle.MELDS)
        if rng.random() < 0.3 and len(meld) > 5:
            continue
        if len(cells) + len(meld) in (*range(12), 14):
            cells.extend(meld)
    return [Tile(place + 1) for place in cells]
