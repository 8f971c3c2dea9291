"""A slow, literal judge of hands that shares no code with ``okey.rules``, its tiles apart.

It puts every face in the place of every okey and then looks for an exact cover by melds, which it
lists in full: every run of 3 to 14 places, every group of 3 or 4 colours.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement

from okey.rules.tile import Tile

Cells = tuple[int, ...]

COLOURS = range(4)
NUMBERS = range(13)
CELLS = range(52)


def cell(colour: int, number: int) -> int:
    """The place of a face in 0..51; numbers from 0, and 13 is the 1 again."""
    return colour * 13 + number % 13


def all_melds() -> Iterator[Cells]:
    for colour in COLOURS:
        for length in range(3, 15):
            for first in range(15 - length):
                yield tuple(cell(colour, first + step) for step in range(length))
    for number in NUMBERS:
        for size in (3, 4):
            for colours in combinations(COLOURS, size):
                yield tuple(cell(colour, number) for colour in colours)


def mask_of(cells: Cells) -> int:
    return sum(1 << place for place in set(cells))


MELDS = tuple(all_melds())
MASKED_MELDS = tuple((mask_of(meld), meld) for meld in MELDS)
MaskedMelds = Sequence[tuple[int, Cells]]


def split(tiles: Sequence[Tile], okey: Tile) -> tuple[int, list[int]]:
    """The number of okeys, and the faces of everything else; a sahte okey has the okey's face."""
    plain = [okey if tile == Tile.S else tile for tile in tiles if tile != okey]
    return len(tiles) - len(plain), [int(tile) - 1 for tile in plain]


def is_covered(counts: list[int], mask: int, melds_at: Sequence[MaskedMelds]) -> bool:
    """Whether melds cover every tile exactly; ``mask`` has a bit for each face that is there."""
    if not mask:
        return True
    first = (mask & -mask).bit_length() - 1
    for needed, meld in melds_at[first]:
        if needed & ~mask:
            continue
        left, left_mask = list(counts), mask
        for place in meld:
            left[place] -= 1
            if left[place] == 0:
                left_mask ^= 1 << place
        # The run 1..13 and 1 again takes two of its 1s.
        if min(left) >= 0 and is_covered(left, left_mask, melds_at):
            return True
    return False


def is_normal(tiles: Sequence[Tile], okey: Tile) -> bool:
    wild, faces = split(tiles, okey)
    plain_mask = mask_of(tuple(faces))
    plain_counts = [faces.count(place) for place in CELLS]
    # A meld with more faces missing than there are okeys is never complete.
    possible = [
        (needed, meld)
        for needed, meld in MASKED_MELDS
        if (needed & ~plain_mask).bit_count() <= wild
    ]
    melds_at = [[entry for entry in possible if place in entry[1]] for place in CELLS]
    for stand_ins in combinations_with_replacement(CELLS, wild):
        counts, mask = list(plain_counts), plain_mask
        for face in stand_ins:
            counts[face] += 1
            mask |= 1 << face
        if is_covered(counts, mask, melds_at):
            return True
    return False


def is_cift(tiles: Sequence[Tile], okey: Tile) -> bool:
    """Pairs the first tile with an equal face, or else with an okey, and so on."""
    wild, faces = split(tiles, okey)
    while faces:
        face = faces.pop()
        if face in faces:
            faces.remove(face)
        elif wild:
            wild -= 1
        else:
            return False
    return wild % 2 == 0


def forms(tiles: Sequence[Tile], okey: Tile) -> list[str]:
    """The forms in the notation of ``tests/data/hands.jsonl``."""
    found = {
        "normal": is_normal(tiles, okey),
        "okeys": all(tile == okey for tile in tiles),
        "pairs": is_cift(tiles, okey),
    }
    return [name for name, is_so in found.items() if is_so]


def is_within(tiles: Sequence[Tile], okey: Tile, exchanges: int) -> bool:
    """Whether exchanging so many of the 14 tiles, for any others, can make a normal hand."""
    return any(
        is_normal([*kept, *[okey] * exchanges], okey)
        for kept in set(combinations(sorted(tiles), len(tiles) - exchanges))
    )


def distance(tiles: Sequence[Tile], okey: Tile) -> int:
    """The distance to a normal hand by trying sets of melds on 14 places together."""
    wild, faces = split(tiles, okey)
    return 14 - wild - most_kept(Counter(faces))


def most_kept(held: Counter[int]) -> int:
    """The most tiles that stay in melds of at most 14 places together.

    Melds with two tiles or more are tried in all sets; a tile on its own takes three places.
    """
    worthy = [meld for meld in MELDS if sum(place in held for place in set(meld)) > 1]
    worthy.sort(key=len)
    best = 0

    def search(first: int, left: Counter[int], kept: int, places: int) -> None:
        nonlocal best
        lone = min(places // 3, left.total())
        best = max(best, kept + lone)
        for index in range(first, len(worthy)):
            meld = worthy[index]
            if len(meld) > places:
                return
            taken = Counter(place for place in meld if left[place]) & left
            # A place holds one tile, so what is left of them bounds what can still be kept.
            if taken.total() > 1 and kept + taken.total() + places - len(meld) > best:
                search(index, left - taken, kept + taken.total(), places - len(meld))

    search(0, held, 0, 14)
    return best
