"""A table as text: what is on it, and nothing that the viewer may not see."""

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.common.v1 import table_pb2 as config_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from services.okeyctl.table_text import seat_name, summary_line, table_lines, tile_text


def view() -> table_pb2.TableView:
    return table_pb2.TableView(
        config=config_pb2.TableConfig(
            variant=common_pb2.VARIANT_CANAK, mode=common_pb2.MODE_NORMAL, seat_count=2, stake=100
        ),
        viewer=-1,
        phase=table_pb2.PHASE_PLAYING,
        match_no=3,
        pot=180,
        kasa=20,
        seats=[
            table_pb2.SeatView(
                seat=0,
                status=table_pb2.SEAT_STATUS_PAID,
                control=table_pb2.CONTROL_PERSON,
                player="ayse",
                display_name="Ayşe",
                rack_count=14,
                pile=[common_pb2.TILE_R1, common_pb2.TILE_S],
            ),
            table_pb2.SeatView(
                seat=1,
                status=table_pb2.SEAT_STATUS_PAID,
                control=table_pb2.CONTROL_HOUSE,
                rack_count=15,
                gave_up=True,
                has_announced_cift=True,
            ),
        ],
        round=table_pb2.RoundView(
            round_no=1,
            gosterge=common_pb2.TILE_R7,
            okey=common_pb2.TILE_R8,
            stock_count=40,
            turn=table_pb2.TurnView(number=9, seat=1),
        ),
    )


def test_the_header_tells_what_is_played_for() -> None:
    header = table_lines(view())[0]
    for text in ("Çanak 2", "100 chips", "playing", "pot 180", "kasa 20", "match 3 round 1"):
        assert text in header
    assert "gösterge R7 okey R8" in header
    assert "stock 40" in header


def test_each_seat_has_a_line_and_the_one_to_move_a_mark() -> None:
    _, first, second = table_lines(view())
    assert first == '   0 "Ayşe"        14 tiles  R1 S'
    assert second == " > 1 (bot)         15 tiles  [bot]  [gave up]  [çift!]"


def test_a_seats_own_view_shows_its_own_rack_sorted() -> None:
    own = view()
    own.viewer = 0
    own.round.rack.extend([common_pb2.TILE_S, common_pb2.TILE_R2])
    _, first, second = table_lines(own)
    assert first.endswith("| R2 S")
    assert "|" not in second


def test_a_long_pile_shows_its_newest_tiles() -> None:
    long = view()
    long.seats[0].pile.extend([common_pb2.TILE_Y1] * 5 + [common_pb2.TILE_K13])
    assert table_lines(long)[1].endswith("… S Y1 Y1 Y1 Y1 Y1 K13".removeprefix("… S "))
    assert "R1" not in table_lines(long)[1]


def test_klasik_shows_points() -> None:
    klasik = view()
    klasik.config.variant = common_pb2.VARIANT_KLASIK
    klasik.seats[0].points = 7
    assert " 7 points" in table_lines(klasik)[1]


def test_free_seats_and_those_who_decide_are_told() -> None:
    waiting = view()
    waiting.ClearField("round")
    waiting.phase = table_pb2.PHASE_NACHSPIEL
    del waiting.seats[:]
    waiting.seats.add(status=table_pb2.SEAT_STATUS_FREE, control=table_pb2.CONTROL_NOBODY)
    waiting.seats.add(
        seat=1,
        status=table_pb2.SEAT_STATUS_DECIDING,
        control=table_pb2.CONTROL_PERSON,
        player="mehmet",
    )
    header, first, second = table_lines(waiting)
    assert "nachspiel" in header
    assert first == "   0 (free)"
    assert second == '   1 "mehmet"      [deciding]'


def test_a_hidden_tile_has_no_face() -> None:
    assert tile_text(common_pb2.TILE_UNSPECIFIED) == "·"
    assert tile_text(common_pb2.TILE_K13) == "K13"
    assert tile_text(common_pb2.TILE_S) == "S"


def test_a_list_has_a_line_a_table() -> None:
    table = engine_pb2.TableSummary(
        table_id="a" * 26,
        phase=table_pb2.PHASE_WAITING,
        variant=common_pb2.VARIANT_CANAK,
        mode=common_pb2.MODE_ESLI,
        seat_count=4,
        stake=50,
        seats=view().seats,
    )
    assert summary_line(table) == (
        f'{"a" * 26}  Çanak Eşli 4  50 chips  waiting  match 0  "Ayşe", (bot)'
    )
    table.is_private = True
    assert summary_line(table).endswith('"Ayşe", (bot)  private')
    table.is_quarantined = True
    assert "QUARANTINED" in summary_line(table)


def test_a_quarantined_table_is_listed_by_its_id_alone() -> None:
    line = summary_line(engine_pb2.TableSummary(table_id="a" * 26, is_quarantined=True))
    assert line.startswith("a" * 26)
    assert "QUARANTINED" in line


STEERING = "\x1b[2J\r\nx\x00\x9b\u202e\u2028\u200b"


def test_nothing_that_a_server_sends_steers_the_terminal() -> None:
    hostile = view()
    hostile.seats[0].display_name = STEERING
    hostile.seats[1].player = STEERING
    summary = engine_pb2.TableSummary(table_id=STEERING, seats=hostile.seats)
    lines = [*table_lines(hostile), summary_line(summary)]
    assert [line for line in lines if not line.isprintable()] == []
    assert "x" in lines[1]


@pytest.mark.parametrize("name", ["(bot)", "(free)", '" (bot)', 'a"  [gave up]', " \u200b"])
def test_a_person_cannot_look_like_a_bot_a_free_seat_or_a_remark(name: str) -> None:
    """Everything that a person has chosen stands between the only two quotes."""
    seat = table_pb2.SeatView(control=table_pb2.CONTROL_PERSON, player="mehmet", display_name=name)
    shown = seat_name(seat)
    assert (shown[0], shown[-1], shown.count('"')) == ('"', '"', 2)


def test_values_of_a_later_version_are_shown_by_their_number() -> None:
    later = view()
    later.config.variant = common_pb2.Variant.ValueType(77)
    later.phase = table_pb2.Phase.ValueType(78)
    later.seats[0].pile.append(common_pb2.Tile.ValueType(79))
    header, first, _ = table_lines(later)
    assert "? 2" in header
    assert "78" in header
    assert first.endswith("R1 S 79")


def test_at_a_closed_table_nobody_is_deciding() -> None:
    """A table that is ended in its match keeps the seats as they were then."""
    ended = view()
    for seat in ended.seats:
        seat.status = table_pb2.SEAT_STATUS_DECIDING
    ended.phase = table_pb2.PHASE_NACHSPIEL
    assert "[deciding]" in table_lines(ended)[1]
    ended.phase = table_pb2.PHASE_CLOSED
    assert "[deciding]" not in "".join(table_lines(ended))
