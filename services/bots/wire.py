"""Views as the engine sends them, as pure values."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from okey.api.engine.v1 import table_pb2
from okey.errors import InvalidInput
from okey.rules.tile import okey_of
from okey.rules.variant import Mode
from okey.table.legal import LegalAction
from okey.table.view import SPECTATOR, RoundView, TableView
from okey_client.pure import pure_view
from okey_runtime.codec import UndecodableMessage

_SEAT_COUNTS: Final = (2, 4)
_PARTNERS: Final = 4
_HELD: Final = 14
_COPIES: Final = 2
_BEFORE_THE_DRAW: Final = frozenset({LegalAction.DRAW_STOCK, LegalAction.DRAW_DISCARD})
_AFTER_THE_DRAW: Final = frozenset({LegalAction.DISCARD, LegalAction.FINISH})


class ViewMalformed(InvalidInput):
    """A view holds what no engine of this version would send."""

    reason = "VIEW_MALFORMED"


def view_from(message: table_pb2.TableView) -> TableView:
    """The seat's view.

    Raises:
        ViewMalformed: an enum is unspecified or unknown where a value is needed, or the parts of
            the view contradict each other.
    """
    try:
        seen = pure_view(message)
    except (UndecodableMessage, InvalidInput) as error:
        raise ViewMalformed(f"the view cannot be read: {error}") from error
    wrong = next(_contradictions(seen), None)
    if wrong is not None:
        raise ViewMalformed(f"no engine sends such a view: {wrong}")
    return seen


def _contradictions(seen: TableView) -> Iterator[str]:
    """What choosing a move relies on and the view does not keep, the first thing first."""
    count = seen.config.seat_count
    if count not in _SEAT_COUNTS:
        yield f"seat_count is {count}, a table has 2 or 4 seats"
    if seen.config.mode is Mode.ESLI and count != _PARTNERS:
        yield f"seat_count is {count}, ESLI has {_PARTNERS} (O2)"
    numbers = [seat.seat for seat in seen.seats]
    if numbers != list(range(count)):
        yield f"{len(numbers)} seats, which are not 0 to {count - 1} in order"
    if not SPECTATOR <= seen.viewer < count:
        yield f"viewer is {seen.viewer}, of {count} seats"
    if seen.round is not None:
        yield from _contradictions_of_round(seen, seen.round)


def _contradictions_of_round(seen: TableView, played: RoundView) -> Iterator[str]:
    count = seen.config.seat_count
    playing = list(played.playing)
    if len(playing) < _SEAT_COUNTS[0] or playing != sorted(set(playing) & set(range(count))):
        yield f"playing is {playing[:8]}, not two or more of {count} seats in order"
    if seen.config.mode is Mode.ESLI and len(playing) < _PARTNERS:
        yield f"playing is {playing}, all four of ESLI play (O2)"
    for name, seat in (("dealer", played.dealer), ("starter", played.starter)):
        if not 0 <= seat < count:
            yield f"{name} is {seat}, of {count} seats"
    if not played.gosterge.is_number_tile or okey_of(played.gosterge) is not played.okey:
        yield f"okey {played.okey} does not follow from gösterge {played.gosterge} (T3, T4)"
    shown = Counter(played.rack)
    for seat_view in seen.seats:
        shown.update(seat_view.pile)
        if seat_view.seat != seen.viewer:
            shown.update(seat_view.taken)
    shown[played.gosterge] += 1
    if max(shown.values()) > _COPIES:
        yield "a tile is there more than twice (T1)"
    turn = played.turn
    if turn is None:
        return
    if turn.seat not in playing:
        yield f"seat {turn.seat} is to move and does not play"
    if turn.seat == seen.viewer:
        yield from _contradictions_of_turn(seen, played, has_drawn=turn.has_drawn)


def _contradictions_of_turn(
    seen: TableView, played: RoundView, *, has_drawn: bool
) -> Iterator[str]:
    """U1: 14 tiles before the draw, 15 after it, and only what is due then is legal."""
    held = _HELD + has_drawn
    if len(played.rack) != held:
        yield f"the viewer holds {len(played.rack)} tiles where it holds {held} (U1)"
    legal = frozenset(seen.legal_actions)
    if legal & (_BEFORE_THE_DRAW if has_drawn else _AFTER_THE_DRAW):
        yield f"a move is legal that is not due, has_drawn being {has_drawn} (U1)"
    if LegalAction.DRAW_DISCARD in legal and played.takeable is None:
        yield "a discard may be drawn and there is none (U1)"
