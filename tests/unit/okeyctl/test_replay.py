"""``okeyctl replay``: a finished round move by move, as it was played."""

import io
import json

from rich.console import Console

from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table import events as e
from services.okeyctl.replay import ReplayedRound, as_json, show
from tests.driver import of_kind
from tests.factories import TABLE_ID, Driver, canak, shuffled
from tests.unit.okeyctl.test_tables_verify import shown


def replayed(table: Driver) -> ReplayedRound:
    return ReplayedRound(TABLE_ID, 1, 1, shown(table, 1, 1))


def voided(table: Driver) -> Driver:
    table.do(c.VoidMatch("operator-7", "a test"))
    return table


def text(round_: ReplayedRound, *, racks: bool = False) -> str:
    out = io.StringIO()
    show(round_, Console(file=out, width=200), racks=racks)
    return out.getvalue()


def a_few_turns() -> Driver:
    table = shuffled(canak(2))
    for _ in range(4):
        table.pass_turn()
    return table


def test_each_turn_is_a_move_with_what_was_drawn_and_laid() -> None:
    table = a_few_turns()
    moves = replayed(voided(table)).moves()
    drawn = [each.tile for each in of_kind(table.events, e.TileDrawn)]
    laid = [each.tile for each in of_kind(table.events, e.TileDiscarded)]
    assert [move.seat for move in moves] == [0, 1, 0, 1, 0]
    assert [move.turn for move in moves] == sorted({move.turn for move in moves})
    assert [move.laid for move in moves] == [*(str(tile) for tile in laid), ""]
    assert [move.drew for move in moves] == ["", *(str(tile) for tile in drawn), ""]


def test_a_rack_is_what_was_dealt_and_drawn_without_what_was_laid() -> None:
    table = a_few_turns()
    held = [sorted(hand.rack) for hand in table.round.hands]
    moves = replayed(voided(table)).moves()
    assert moves[2].rack == [str(tile) for tile in held[0]]
    assert moves[3].rack == [str(tile) for tile in held[1]]


def test_the_text_tells_deal_moves_and_end() -> None:
    round_ = replayed(voided(a_few_turns()))
    lines = text(round_).splitlines()
    assert "match 1 round 1" in lines[0]
    assert f"gösterge {Tile(round_.dealt.gosterge)}" in lines[0]
    assert lines[3].split() == ["turn", "seat", "drew", "laid", "after"]
    first = round_.moves()[1]
    assert lines[5].split()[:4] == [str(first.turn), "1", first.drew, first.laid]
    assert "ended: voided" in "\n".join(lines)
    held = text(round_, racks=True).splitlines()
    assert held[3].split()[-1] == "holds"
    assert held[5].endswith(" ".join(first.rack))


def test_one_line_of_json_tells_all_of_it() -> None:
    round_ = replayed(voided(a_few_turns()))
    line = as_json(round_)
    assert "\n" not in line
    told = json.loads(line)
    assert (told["match_id"], told["round_no"]) == (round_.shown.match_id, 1)
    assert (told["result"], told["winner"], told["finish"]) == ("VOIDED", None, None)
    assert len(told["moves"]) == len(round_.moves())
    assert told["moves"][1]["from"] == "stock"
    assert len(bytes.fromhex(told["seed"])) == 32
    tiles = [*told["stock"], told["gosterge"], *(t for rack in told["racks"] for t in rack)]
    assert len(tiles) == 106


def test_time_outs_stand_ins_and_announcements_are_remarked() -> None:
    table = shuffled(canak(2))
    table.away(0)
    remarks = [remark for move in replayed(voided(table)).moves() for remark in move.remarks]
    assert "time-out 1" in remarks
    assert "a stand-in minds 0" in remarks
    assert any(move.is_neutral for move in replayed(table).moves())
