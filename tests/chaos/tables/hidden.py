"""No hidden tile, nonce or seed ever on the wire (T9, H8).

Twice, and not by the engine's own redaction: the fields that may hold a tile are looked at one by
one, and the bytes of every message are searched for what its viewer may not know at that row:
seeds, nonces, six tiles in a row of the stock or of somebody else's rack.
"""

from collections.abc import Iterable, Iterator, Sequence

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.api.events.v1 import events_pb2
from okey.rules.tile import Tile
from okey.table.state import TableState
from tests.chaos.tables.history import ClientHistory, Finding, Snapshot, Update
from tests.chaos.tables.replay import Replays, Step

HIDDEN = "nothing hidden shown"

_NO_TILE = b"\xff"
_WINDOW = 6
"""Tiles in a row; by chance they stand in no message but where tiles may be seen."""


def check_hidden(client: ClientHistory, replays: Replays) -> Iterator[Finding]:
    """Everything that one client was sent, against what it may know at that row."""
    steps = replays.get(client.table_id, ())
    for heard in client.heard:
        if not isinstance(heard, Update | Snapshot):
            continue
        seq = heard.update.seq if isinstance(heard, Update) else heard.view.seq
        if not 0 < seq <= len(steps):
            continue  # found by another check
        step = steps[seq - 1]
        own = _own_seats(step, client.player)
        events: Iterable[events_pb2.Event] = ()
        if isinstance(heard, Update):
            events, view = heard.update.events, heard.update.view
        else:
            view = heard.view
        shown = [text for event in events for text in _in_event(event, own)]
        shown += _in_view(view, own)
        shown += _in_bytes(heard.wire, _open_tiles(events, view, own), step.after, own)
        for text in shown:
            yield Finding(HIDDEN, client.table_id, client.player, f"row {seq} shows {text}")


def _own_seats(step: Step, player: str) -> frozenset[int]:
    """Whose tiles the player may see: of the seat that it owned before the row, or after it."""
    before = step.before.seat_of(player) if step.before is not None else -1
    return frozenset({before, step.after.seat_of(player)}) - {-1}


def _in_event(event: events_pb2.Event, own: frozenset[int]) -> Iterator[str]:
    match event.WhichOneof("event"):
        case "round_dealt":
            deal = event.round_dealt
            if deal.stock:
                yield "the stock"
            for seat, rack in enumerate(deal.racks):
                if rack.tiles and seat not in own:
                    yield f"the rack dealt to seat {seat}"
        case "tile_drawn":
            drawn = event.tile_drawn
            is_open = drawn.source == common_pb2.DRAW_SOURCE_DISCARD or drawn.seat in own
            if drawn.tile and not is_open:
                yield f"the tile that seat {drawn.seat} drew from the stock"
        case "seat_declined":
            if event.seat_declined.reason and event.seat_declined.seat not in own:
                yield f"why the stake of seat {event.seat_declined.seat} was declined"
        case _:
            return


def _in_view(view: table_pb2.TableView, own: frozenset[int]) -> Iterator[str]:
    if (view.round.rack or view.round.drawn) and view.viewer not in own:
        yield f"the rack of seat {view.viewer}"


def _open_tiles(
    events: Iterable[events_pb2.Event], view: table_pb2.TableView, own: frozenset[int]
) -> list[bytes]:
    """Where tiles in a row may stand: the piles, and what is the viewer's own. Both copies of six
    tiles may lie there and in somebody's rack: two who play alike keep alike tiles.
    """
    found = [bytes(tiles) for seat in view.seats for tiles in (seat.pile, seat.taken)]
    if view.viewer in own:
        found.append(bytes(view.round.rack))
    for event in events:
        racks = event.round_dealt.racks
        found += [bytes(rack.tiles) for seat, rack in enumerate(racks) if seat in own]
    return found


def _in_bytes(
    wire: bytes, open_tiles: Sequence[bytes], state: TableState, own: frozenset[int]
) -> Iterator[str]:
    """Secrets that stand in the message, what its viewer may see of it apart."""
    closed = _without(wire, open_tiles)
    for secret, needle in _secrets(state, own):
        if needle in closed:
            yield f"{secret}, in its bytes: {needle.hex(' ')}"


def _without(wire: bytes, open_tiles: Sequence[bytes]) -> bytes:
    """The message without each of these once, and without the length before it, which reads like a
    tile: five tiles that a seat took are six with it. Nor is what follows a neighbour of theirs.
    """
    for tiles in sorted(open_tiles, key=len, reverse=True):
        if tiles:
            wire = wire.replace(bytes([len(tiles)]) + tiles, _NO_TILE, 1)
    return wire


def _secrets(state: TableState, own: frozenset[int]) -> Iterator[tuple[str, bytes]]:
    """Everything in the state that the owner of those seats may not know after this row."""
    if state.sealed is not None:
        yield "the coming round's seed", state.sealed.seed
    for seat in state.seats:
        if seat.nonce:
            yield "a nonce before the deal", seat.nonce
    if state.round is None:
        return
    yield "the running round's seed", state.round.seed
    for needle in _windows(state.round.stock):
        yield "the order of the stock", needle
    for number, hand in enumerate(state.round.hands):
        if number not in own:
            for needle in _windows(hand.rack):
                yield f"the rack of seat {number}", needle


def _windows(tiles: tuple[Tile, ...]) -> Iterator[bytes]:
    """Tiles in a row as protobuf packs them, in this order, backwards, and sorted."""
    packed = bytes(tiles)
    for order in (packed, packed[::-1], bytes(sorted(packed))):
        for start in range(len(order) - _WINDOW + 1):
            yield order[start : start + _WINDOW]
