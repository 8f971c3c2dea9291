"""A rack laid out so that it proves its distance to a normal hand or to seven pairs (H2, H5)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from okey.rules.distance import RACK_SIZES, distance_left
from okey.rules.faces import HAND_TILES, NIBBLE, faces_of
from okey.rules.fits import places_and_kept
from okey.rules.meld import LONGEST_RUN, SMALLEST_MELD, Meld, MeldKind
from okey.rules.plan import Plan, best_plan
from okey.rules.runs import Run, plan_runs, points_of_runs
from okey.rules.tile import HIGHEST_NUMBER, Colour, Tile, tile_of, without


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A rack in order: valid melds, the beginnings of others, and what belongs nowhere yet.

    The tiles of all three together are the rack. A part holds at least two tiles of a meld that
    misses others; real okeys lie in the melds they complete, or among the singles.

    ``distance`` is what the arrangement proves. For a normal hand: melds and parts with their gaps
    are on at most 14 places, and every three places to spare hold a single; all these tiles and
    the okeys stay, and the distance is what they lack of 14. For çift it is the pairs that lack of
    seven.
    """

    melds: tuple[Meld, ...]
    parts: tuple[tuple[Tile, ...], ...]
    singles: tuple[Tile, ...]
    distance: int


@dataclass(slots=True)
class _Draft:
    """A meld in the making; None is a gap. ``end`` is a run's last number, 14 the 1 after 13."""

    kind: MeldKind
    places: list[Tile | None]
    end: int = 0
    natural: tuple[Tile, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.natural = tuple(tile for tile in self.places if tile is not None)

    @property
    def gaps(self) -> int:
        return self.places.count(None)

    def fill(self, okey: Tile) -> None:
        self.places = [okey if tile is None else tile for tile in self.places]

    @property
    def has_room(self) -> bool:
        """Whether one more tile could lie at an end of the meld."""
        longest = len(Colour) if self.kind is MeldKind.GROUP else LONGEST_RUN
        return len(self.places) < longest

    def extend(self, okey: Tile) -> None:
        """Adds an okey: behind the others, or before a run that ends with the 1 after 13."""
        if self.kind is MeldKind.RUN and self.end == LONGEST_RUN:
            self.places.insert(0, okey)
        else:
            self.places.append(okey)
            self.end += 1

    def meld(self) -> Meld:
        return Meld(self.kind, tuple(tile for tile in self.places if tile is not None))


def arrange(tiles: Sequence[Tile], okey: Tile) -> Arrangement:
    """The 14 or 15 ``tiles`` laid out by a plan of the least distance to a normal hand.

    A winning hand is laid out in full; with a winning hand among 15 tiles one single is left, the
    tile to finish with (an okey, if one can be spared). Raises ``WrongTileCount``, ``NotAnOkey``.
    """
    faces = faces_of(tiles, okey, RACK_SIZES)
    plan = best_plan(faces)
    drafts = [*_groups(plan, okey), *_runs(plan, okey)]
    okeys = faces.wild
    complete, parts = [], []
    for draft in sorted(drafts, key=lambda draft: draft.gaps):
        if draft.gaps <= okeys:
            okeys -= draft.gaps
            draft.fill(okey)
            complete.append(draft)
        else:
            parts.append(draft)
    if not parts:
        _add_spare_okeys(complete, okey, okeys)
    melds = tuple(draft.meld() for draft in complete)
    begun = tuple(part.natural for part in parts if len(part.natural) > 1)
    placed = [tile for meld in melds for tile in meld.tiles]
    singles = without(tiles, [*placed, *(tile for part in begun for tile in part)])
    return Arrangement(melds, begun, singles, distance_left(faces, plan.kept))


def arrange_pairs(tiles: Sequence[Tile], okey: Tile) -> Arrangement:
    """The 14 or 15 ``tiles`` in pairs; an okey goes to a lone tile first (H5).

    Of 15 tiles one is always single. Raises ``WrongTileCount``, ``NotAnOkey``.
    """
    okeys = [okey] * faces_of(tiles, okey, RACK_SIZES).wild
    pairs: list[tuple[Tile, ...]] = []
    lone = []
    for tile, count in sorted(Counter(tiles).items()):
        if tile is not okey:
            pairs += [(tile, tile)] * (count // 2)
            lone += [tile] * (count % 2)
    while okeys and lone:
        pairs.append((lone.pop(0), okeys.pop()))
    pairs += [(okey, okey)] * (len(okeys) // 2)
    melds = tuple(Meld(MeldKind.PAIR, pair) for pair in pairs)
    singles = (*lone, *okeys[: len(okeys) % 2])
    return Arrangement(melds, (), singles, HAND_TILES // 2 - len(pairs))


def _groups(plan: Plan, okey: Tile) -> Iterator[_Draft]:
    for shift, choice in plan.groups:
        for group in choice.groups:
            places = [_held(colour, shift // NIBBLE, okey) for colour in group]
            gaps = [None] * (SMALLEST_MELD - len(places))
            yield _Draft(MeldKind.GROUP, [*places, *gaps])


def _runs(plan: Plan, okey: Tile) -> Iterator[_Draft]:
    for colour, (places, kept) in enumerate(_split_by_colour(plan)):
        for run in plan_runs(plan.vectors[colour], kept, places):
            yield _Draft(MeldKind.RUN, _places(run, colour, okey), run.start + run.length)


def _split_by_colour(plan: Plan) -> tuple[tuple[int, int], ...]:
    """The places and the tiles kept of each colour, where the runs keep as many as they can."""
    wanted = plan.kept - plan.grouped
    splits = product(*(map(places_and_kept, points_of_runs(vector)) for vector in plan.vectors))
    return next(
        split
        for split in splits
        if sum(kept for _places, kept in split) == wanted
        and sum(places for places, _kept in split) <= plan.places
    )


def _places(run: Run, colour: int, okey: Tile) -> list[Tile | None]:
    return [
        _held(colour, place % HIGHEST_NUMBER, okey) if run.taken >> NIBBLE * place & 1 else None
        for place in range(run.start, run.start + run.length)
    ]


def _held(colour: int, index: int, okey: Tile) -> Tile:
    """The tile that has this face and is not wild: for the okey's own face a sahte okey (T6)."""
    tile = tile_of(tuple(Colour)[colour], index + 1)
    return Tile.S if tile == okey else tile


def _add_spare_okeys(drafts: list[_Draft], okey: Tile, spare: int) -> None:
    """Puts ``spare`` okeys where they fit, so that complete melds become a hand of 14 in all."""
    spare = min(spare, HAND_TILES - sum(len(draft.places) for draft in drafts))
    if spare >= SMALLEST_MELD:
        drafts.append(_Draft(MeldKind.RUN, [okey] * spare))
        return
    if spare and not any(draft.has_room for draft in drafts):
        # Three groups of four: one of their twelve tiles begins a group with both okeys.
        drafts.append(_Draft(MeldKind.GROUP, [drafts[0].places.pop()]))
    for _okey in range(spare):
        next(draft for draft in reversed(drafts) if draft.has_room).extend(okey)
