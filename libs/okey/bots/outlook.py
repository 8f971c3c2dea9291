"""What a bot knows: its own rack, and by counting what it sees, what may still come."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from okey.errors import Refused
from okey.rules.distance import distance_to_cift, distance_to_normal
from okey.rules.tile import FULL_SET, Tile
from okey.table.view import TableView


class NotToMove(Refused):
    """An action is asked for a seat that is not to move."""

    reason = "NOT_TO_MOVE"


@dataclass(frozen=True, slots=True)
class Outlook:
    """One seat's knowledge in its own turn.

    ``rack`` has 14 tiles before the draw and 15 after it; ``unseen`` counts by tile value the
    copies that lie neither in the rack nor on a pile, were not taken from one by another seat, and
    are not the gösterge.
    """

    rack: tuple[Tile, ...]
    okey: Tile
    gosterge: Tile
    takeable: Tile | None
    has_announced: bool
    unseen: tuple[int, ...]

    @classmethod
    def of(cls, view: TableView) -> Self:
        """The outlook of the seat whose view this is.

        Raises:
            NotToMove: there is no turn, or it is another seat's.
        """
        played = view.round
        if played is None or played.turn is None or played.turn.seat != view.viewer:
            turn = None if played is None else played.turn
            now = "no turn is running" if turn is None else f"it is seat {turn.seat}'s turn"
            raise NotToMove(
                f"seat {view.viewer} of table {view.config.table_id} is not to move, {now}: "
                "ask in its own turn (U1)"
            )
        unseen = Counter(FULL_SET)
        unseen.subtract((*played.rack, played.gosterge))
        for seat in view.seats:
            unseen.subtract(seat.pile)
            if seat.seat != view.viewer:
                unseen.subtract(seat.taken)
        return cls(
            rack=played.rack,
            okey=played.okey,
            gosterge=played.gosterge,
            takeable=played.takeable,
            has_announced=view.seats[view.viewer].has_announced_cift,
            unseen=(0, *(unseen[tile] for tile in Tile)),
        )

    def to_normal(self, tiles: Sequence[Tile]) -> int:
        """The distance of 14 or 15 tiles to a normal hand."""
        return distance_to_normal(tiles, self.okey)

    def to_cift(self, tiles: Sequence[Tile]) -> int:
        """The distance of 14 or 15 tiles to seven pairs."""
        return distance_to_cift(tiles, self.okey)

    def to_finish(self, tiles: Sequence[Tile]) -> int:
        """The distance of 14 or 15 tiles to a hand that may finish: çift only while announced (H12,
        H13).
        """
        if self.has_announced:
            return self.to_cift(tiles)
        return min(self.to_normal(tiles), self.to_cift(tiles))
