"""What a player knows of its table, folded from what it was shown."""

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.api.events.v1 import events_pb2
from okey.rules.distance import distance_to_normal
from okey.rules.tile import HIGHEST_NUMBER, Tile, without

_FULL_RACK = 15


class Board:
    """The own rack and what is due; as a frontend would keep it, so it is also what is tested."""

    def __init__(self) -> None:
        self.seq = 0
        self.seat = -1
        self.phase = table_pb2.PHASE_UNSPECIFIED
        self.turn = table_pb2.TurnView()
        self.legal: frozenset[table_pb2.LegalAction.ValueType] = frozenset()
        self.takeable: Tile | None = None
        self.rack: list[Tile] = []
        self.gosterge: Tile | None = None
        self.okey: Tile | None = None

    @property
    def is_closed(self) -> bool:
        """Whether nothing happens at the table any more."""
        return self.phase == table_pb2.PHASE_CLOSED

    @property
    def is_own_turn(self) -> bool:
        """Whether the own seat is to move, and its player moves it."""
        moves = {table_pb2.LEGAL_ACTION_DRAW_STOCK, table_pb2.LEGAL_ACTION_DISCARD}
        is_away = table_pb2.LEGAL_ACTION_RETURN_TO_SEAT in self.legal
        return (
            self.turn.number > 0
            and self.turn.seat == self.seat
            and not is_away
            and bool(moves & self.legal)
        )

    def look(self, view: table_pb2.TableView) -> None:
        """Take a snapshot."""
        self.seq, self.seat, self.phase = view.seq, view.viewer, view.phase
        self.legal = frozenset(view.legal_actions)
        self.turn.CopyFrom(view.round.turn)
        self.rack = [Tile(tile) for tile in view.round.rack]
        self.takeable = _tile(view.round.takeable)
        self.gosterge, self.okey = _tile(view.round.gosterge), _tile(view.round.okey)

    def take(self, update: engine_pb2.TableUpdate) -> None:
        """Take one row."""
        self.seq = update.seq
        if update.HasField("prompt"):
            prompt = update.prompt
            self.seat, self.phase = prompt.viewer, prompt.phase
            self.legal = frozenset(prompt.legal_actions)
            self.turn.CopyFrom(prompt.turn)
            self.takeable = _tile(prompt.takeable)
        else:
            self.legal = frozenset()  # more rows follow, and what is due then stands in the last
        for event in update.events:
            self._fold(event)

    def _fold(self, event: events_pb2.Event) -> None:
        match event.WhichOneof("event"):
            case "round_dealt":
                deal = event.round_dealt
                self.rack = []
                for seat, dealt in enumerate(deal.racks):
                    if dealt.tiles:  # only the own ones are shown
                        self.seat, self.rack = seat, [Tile(tile) for tile in dealt.tiles]
                self.gosterge, self.okey = _tile(deal.gosterge), _tile(deal.okey)
            case "tile_drawn" if event.tile_drawn.seat == self.seat:
                self.rack.append(Tile(event.tile_drawn.tile))
            case "tile_discarded" if event.tile_discarded.seat == self.seat:
                self.rack.remove(Tile(event.tile_discarded.tile))
            case "seat_forfeited" if event.seat_forfeited.seat == self.seat:
                # Of several missed rows only the last one has a prompt, which would tell it too.
                self.seat, self.rack = -1, []
            case "round_ended" | "match_voided":
                self.rack = []
            case _:
                return

    # Playing --------------------------------------------------------------------------------------

    def winning_tile(self) -> Tile | None:
        """The tile to lay on the gösterge, if the other 14 are a normal hand."""
        if self.okey is None or len(self.rack) != _FULL_RACK:
            return None
        if distance_to_normal(self.rack, self.okey):
            return None
        for tile in sorted(set(self.rack)):
            if not distance_to_normal(without(tuple(self.rack), (tile,)), self.okey):
                return tile
        return None

    def loneliest_tile(self) -> Tile:
        """The tile with the fewest neighbours in the rack; the okey last."""
        return min(sorted(self.rack), key=lambda tile: (tile == self.okey, self.neighbours(tile)))

    def neighbours(self, tile: Tile) -> int:
        """How well the tile fits to the rack, roughly: this is played often and must be cheap."""
        if tile is Tile.S:
            return 1
        colour, number = divmod(tile - 1, HIGHEST_NUMBER)
        score = 0
        for other in set(self.rack) - {tile, Tile.S}:
            other_colour, other_number = divmod(other - 1, HIGHEST_NUMBER)
            if other_colour == colour:
                apart = abs(other_number - number)
                score += {1: 3, 2: 2}.get(apart, 0)
            elif other_number == number:
                score += 3
        return score


def _tile(tile: common_pb2.Tile.ValueType) -> Tile | None:
    return Tile(tile) if tile else None
