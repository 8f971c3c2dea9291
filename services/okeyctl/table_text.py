"""A table as a few lines of plain text: what a spectator, or one seat, sees of it."""

from typing import Final

from google.protobuf.descriptor import EnumDescriptor

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey_runtime.identity import display_name

_PILE_SHOWN: Final = 6
_VARIANTS: Final = {common_pb2.VARIANT_CANAK: "Çanak", common_pb2.VARIANT_KLASIK: "Klasik"}
_MODES: Final = {common_pb2.MODE_SOLO: " solo", common_pb2.MODE_ESLI: " Eşli"}
_CONTROLS: Final = {
    table_pb2.CONTROL_PERSON: "",
    table_pb2.CONTROL_STAND_IN: "stand-in",
    table_pb2.CONTROL_HOUSE: "bot",
}


def tile_text(tile: common_pb2.Tile.ValueType) -> str:
    """``R7``, ``S``, or ``·`` for a tile that the viewer may not see."""
    if tile == common_pb2.TILE_UNSPECIFIED:
        return "·"
    return _value_name(common_pb2.Tile.DESCRIPTOR, tile).removeprefix("TILE_")


def table_lines(view: table_pb2.TableView) -> list[str]:
    """A header, and a line a seat; ``>`` marks the seat to move."""
    return [_header(view), *(_seat_line(view, seat) for seat in view.seats)]


def seat_name(seat: table_pb2.SeatView) -> str:
    """The name that a seat shows; a person's stands in quotes, so that it cannot look like the
    ``(bot)`` and ``(free)`` of others, nor like a remark.
    """
    if seat.control == table_pb2.CONTROL_HOUSE and not seat.player:
        return "(bot)"
    return person_name(seat.display_name) or person_name(seat.player) or "(free)"


def person_name(name: str) -> str:
    """The name in quotes and without what would steer the terminal; "" where nothing is left."""
    shown = display_name(name).replace('"', "'")
    return f'"{shown}"' if shown else ""


def summary_line(table: engine_pb2.TableSummary) -> str:
    """A table in one line, for a list."""
    kind = _kind(table.variant, table.mode)
    seated = ", ".join(seat_name(seat) for seat in table.seats)
    state = "QUARANTINED" if table.is_quarantined else _phase(table.phase)
    return (
        f"{display_name(table.table_id)}  {kind} {table.seat_count}  {table.stake} chips  {state}  "
        f"match {table.match_no}  {seated}{'  private' if table.is_private else ''}"
    )


def _header(view: table_pb2.TableView) -> str:
    config = view.config
    words = [
        f"{_kind(config.variant, config.mode)} {config.seat_count}",
        f"{config.stake} chips",
        _phase(view.phase),
    ]
    if view.pot:
        words.append(f"pot {view.pot}")
    if view.kasa:
        words.append(f"kasa {view.kasa}")
    if view.HasField("round"):
        running = view.round
        words.append(f"match {view.match_no} round {running.round_no}")
        words.append(f"gösterge {tile_text(running.gosterge)} okey {tile_text(running.okey)}")
        words.append(f"stock {running.stock_count}")
        if running.is_tie_break:
            words.append("tie-break")
    return "  ".join(words)


def _seat_line(view: table_pb2.TableView, seat: table_pb2.SeatView) -> str:
    is_to_move = view.HasField("round") and view.round.turn.seat == seat.seat
    mark = ">" if is_to_move and view.round.HasField("turn") else " "
    words = [f" {mark} {seat.seat} {seat_name(seat):<12}"]
    if view.config.variant == common_pb2.VARIANT_KLASIK:
        words.append(f"{seat.points:>2} points")
    if seat.rack_count:
        words.append(f"{seat.rack_count:>2} tiles")
    if seat.pile:
        hidden = "… " if len(seat.pile) > _PILE_SHOWN else ""
        words.append(hidden + " ".join(map(tile_text, seat.pile[-_PILE_SHOWN:])))
    words += _remarks(view, seat)
    if view.viewer == seat.seat and view.HasField("round"):
        words.append("| " + " ".join(map(tile_text, sorted(view.round.rack))))
    return "  ".join(words).rstrip()


def _remarks(view: table_pb2.TableView, seat: table_pb2.SeatView) -> list[str]:
    remarks = [_CONTROLS.get(seat.control, "")]
    remarks += ["gave up"] if seat.gave_up else []
    remarks += ["çift!"] if seat.has_announced_cift else []
    remarks += ["showed gösterge"] if seat.has_shown_gosterge else []
    # A table that is ended in its match keeps the seats as they were then.
    is_deciding = seat.status == table_pb2.SEAT_STATUS_DECIDING
    remarks += ["deciding"] if is_deciding and view.phase != table_pb2.PHASE_CLOSED else []
    return [f"[{remark}]" for remark in remarks if remark]


def _phase(phase: table_pb2.Phase.ValueType) -> str:
    return _value_name(table_pb2.Phase.DESCRIPTOR, phase).removeprefix("PHASE_").lower()


def _kind(variant: common_pb2.Variant.ValueType, mode: common_pb2.Mode.ValueType) -> str:
    # A quarantined table is listed by its id alone.
    return _VARIANTS.get(variant, "?") + _MODES.get(mode, "")


def _value_name(enum: EnumDescriptor, number: int) -> str:
    """The value's name, or its number where a later version has sent one that is unknown here."""
    value = enum.values_by_number.get(number)
    return str(number) if value is None else value.name
