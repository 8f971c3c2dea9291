"""``okeyctl replay``: a finished round move by move, for people and as JSON."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey.api.events.v1 import events_pb2
from okey_client import RpcFailure
from services.okeyctl.reach import Reach
from services.okeyctl.table_text import tile_text
from services.okeyctl.tables import open_client
from services.okeyctl.tables_verify import deal_of, end_of

_NO_MORE: Final = ("ROUND_NOT_FOUND", "ROUND_NOT_ENDED")

Tiles = list[common_pb2.Tile.ValueType]


@dataclass(slots=True)
class Move:
    """What one seat did in one turn; ``rack`` is what it holds after it."""

    turn: int
    seat: int
    at_ms: int
    drew: str = ""
    is_from_pile: bool = False
    laid: str = ""
    is_neutral: bool = False
    remarks: list[str] = field(default_factory=list)
    rack: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ReplayedRound:
    """A finished round: its deal, its moves, its end."""

    table_id: str
    match_no: int
    round_no: int
    shown: engine_pb2.ListEventsResponse

    @property
    def dealt(self) -> events_pb2.RoundDealt:
        """The deal."""
        return deal_of(self.shown)

    @property
    def ended(self) -> events_pb2.RoundEnded:
        """The end."""
        return end_of(self.shown)

    def moves(self) -> list[Move]:
        """Every turn in order."""
        held = {seat: list(rack.tiles) for seat, rack in enumerate(self.dealt.racks)}
        moves: list[Move] = []
        for row in self.shown.rows:
            for event in row.events:
                if event.HasField("turn_started"):
                    started = event.turn_started
                    moves.append(Move(started.turn, started.seat, row.at_ms))
                elif moves:
                    _tell(moves[-1], event, held)
                    moves[-1].at_ms = row.at_ms
        return moves


async def fetch(
    engine: Reach, table_id: str, match_no: int, round_no: int | None, invite: str = ""
) -> AsyncIterator[ReplayedRound]:
    """The round, or every finished one of the match.

    Raises:
        RpcFailure: there is none.
    """
    async with open_client(engine) as client:
        table, number = client.table(table_id, invite), round_no or 1
        while True:
            try:
                shown = await table.finished_round(match_no, number)
            except RpcFailure as failure:
                if failure.reason in _NO_MORE and round_no is None and number > 1:
                    return
                raise
            yield ReplayedRound(table_id, match_no, number, shown)
            if round_no is not None:
                return
            number += 1


def show(replayed: ReplayedRound, out: Console, *, racks: bool) -> None:
    """The round as a table, a line a turn."""
    dealt = replayed.dealt
    out.print(
        f"match {replayed.match_no} round {replayed.round_no}  gösterge "
        f"{tile_text(dealt.gosterge)}  okey {tile_text(dealt.okey)}  dealer {dealt.dealer}  "
        f"stock {len(dealt.stock)}"
    )
    for seat in dealt.playing:
        out.print(f"  {seat}  {' '.join(_texts(sorted(dealt.racks[seat].tiles)))}")
    out.print(_moves(replayed, racks=racks))
    out.print(_end(replayed.ended))
    for seat in dealt.playing:
        out.print(f"  {seat}  {' '.join(_texts(sorted(replayed.ended.racks[seat].tiles)))}")


def as_json(replayed: ReplayedRound) -> str:
    """The round as one JSON object in one line."""
    dealt, ended = replayed.dealt, replayed.ended
    return json.dumps(
        {
            "table_id": replayed.table_id,
            "match_id": replayed.shown.match_id,
            "match_no": replayed.match_no,
            "round_no": replayed.round_no,
            "gosterge": tile_text(dealt.gosterge),
            "okey": tile_text(dealt.okey),
            "dealer": dealt.dealer,
            "starter": dealt.starter,
            "racks": [_texts(rack.tiles) for rack in dealt.racks],
            "stock": _texts(dealt.stock),
            "moves": [_move_json(move) for move in replayed.moves()],
            "result": _name(events_pb2.RoundResult, ended.result, "ROUND_RESULT_"),
            "winner": ended.seat if ended.seat >= 0 else None,
            "finish": _finish(ended),
            "laid": tile_text(ended.laid) if ended.laid else None,
            "seed": ended.revealed.hex(),
        },
        ensure_ascii=False,
    )


def _moves(replayed: ReplayedRound, *, racks: bool) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for name in ("turn", "seat", "drew", "laid", "after"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    if racks:
        table.add_column("holds", no_wrap=True)
    before_ms = replayed.shown.rows[0].at_ms
    for move in replayed.moves():
        drew = f"{move.drew} (pile)" if move.is_from_pile else move.drew
        cells = [
            str(move.turn),
            str(move.seat),
            drew,
            move.laid,
            f"{(move.at_ms - before_ms) / 1000:.1f} s",
            ", ".join([*(["neutral"] if move.is_neutral else []), *move.remarks]),
        ]
        table.add_row(*cells, *([" ".join(move.rack)] if racks else []))
        before_ms = move.at_ms
    return table


def _end(ended: events_pb2.RoundEnded) -> str:
    result = _name(events_pb2.RoundResult, ended.result, "ROUND_RESULT_").lower()
    if ended.seat < 0:
        return f"ended: {result.replace('_', ' ')}"
    return f"ended: {result} by seat {ended.seat}, {_finish(ended)} with {tile_text(ended.laid)}"


def _finish(ended: events_pb2.RoundEnded) -> str | None:
    return _name(common_pb2.FinishKind, ended.finish, "FINISH_KIND_") if ended.finish else None


def _move_json(move: Move) -> dict[str, Any]:
    return {
        "turn": move.turn,
        "seat": move.seat,
        "drew": move.drew or None,
        "from": None if not move.drew else "pile" if move.is_from_pile else "stock",
        "laid": move.laid or None,
        "is_neutral": move.is_neutral,
        "remarks": move.remarks,
        "rack": move.rack,
        "at_ms": move.at_ms,
    }


def _tell(move: Move, event: events_pb2.Event, held: dict[int, Tiles]) -> None:
    """Add to a move what an event says."""
    if event.HasField("tile_drawn"):
        drawn = event.tile_drawn
        held[drawn.seat].append(drawn.tile)
        move.drew = tile_text(drawn.tile)
        move.is_from_pile = drawn.source == common_pb2.DRAW_SOURCE_DISCARD
        move.is_neutral |= drawn.is_neutral
    elif event.HasField("tile_discarded"):
        discarded = event.tile_discarded
        held[discarded.seat].remove(discarded.tile)
        move.laid = tile_text(discarded.tile)
        move.is_neutral |= discarded.is_neutral
    else:
        move.remarks += _remarks(event)
    move.rack = _texts(sorted(held[move.seat]))


def _remarks(event: events_pb2.Event) -> Iterator[str]:
    kind = event.WhichOneof("event")
    if kind in _REMARKS:
        yield _REMARKS[kind](event)


_REMARKS: Final[dict[str, Callable[[events_pb2.Event], str]]] = {
    "cift_announced": lambda e: f"{e.cift_announced.seat} announces çift",
    "cift_withdrawn": lambda e: f"{e.cift_withdrawn.seat} takes çift back",
    "gosterge_shown": lambda e: f"{e.gosterge_shown.seat} shows the gösterge",
    "points_taken": lambda e: f"points {' '.join(map(str, e.points_taken.points))}",
    "turn_timed_out": lambda e: f"time-out {e.turn_timed_out.count}",
    "stand_in_seated": lambda e: f"a stand-in minds {e.stand_in_seated.seat}",
    "player_returned": lambda e: f"{e.player_returned.seat} is back",
    "seat_forfeited": lambda e: f"{e.seat_forfeited.seat} is given up",
    "table_taken_over": lambda _: "clocks armed anew",
}


def _texts(tiles: Any) -> list[str]:
    return [tile_text(tile) for tile in tiles]


def _name(enum: Any, value: int, prefix: str) -> str:
    name: str = enum.Name(value)
    return name.removeprefix(prefix)
