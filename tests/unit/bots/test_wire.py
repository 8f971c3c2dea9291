"""Views of the bot service: every one that an engine sends is read, others are refused by name."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.bots.choose import choose
from okey.rules.variant import BotLevel, Mode, Variant
from okey.simulation.play import simulate
from okey.table.commands import Action
from okey.table.config import TableConfig
from okey.table.legal import LegalAction
from okey.table.view import TableView
from okey_runtime.codec import encode
from services.bots.wire import ViewMalformed, view_from
from tests.unit.bots.views import view

HELD = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1"
Legal = table_pb2.LegalAction

Change = Callable[[table_pb2.TableView], None]


def message(rack: str = HELD, legal: list[LegalAction] | None = None) -> table_pb2.TableView:
    return encode(view(rack, legal, piles=("R9", "B1")), table_pb2.TableView)


@pytest.mark.parametrize(
    "config",
    [
        TableConfig("t", seat_count=2),
        TableConfig("t", seat_count=4, mode=Mode.ESLI),
        TableConfig("t", seat_count=4, mode=Mode.SOLO),
        TableConfig("t", variant=Variant.KLASIK, seat_count=2, start_points=3),
        TableConfig("t", variant=Variant.KLASIK, seat_count=4, start_points=3),
    ],
    ids=lambda config: f"{config.variant.name} {config.mode.name} {config.seat_count}",
)
def test_every_view_of_whole_matches_is_read_as_it_was_sent(config: TableConfig) -> None:
    def policy(seen: TableView, level: BotLevel, is_stand_in: bool, seed: int) -> Action:
        assert view_from(encode(seen, table_pb2.TableView)) == seen
        return choose(seen, BotLevel.NORMAL, is_stand_in, seed)

    report = simulate(replace(config, stake=100), matches=1, seed=5, policy=policy)
    assert report.moves > 0


def seats(*numbers: int) -> Change:
    def change(sent: table_pb2.TableView) -> None:
        template = sent.seats[0]
        del sent.seats[:]
        for number in numbers:
            sent.seats.add().CopyFrom(template)
            sent.seats[-1].seat = number

    return change


def playing(*numbers: int) -> Change:
    def change(sent: table_pb2.TableView) -> None:
        sent.round.playing[:] = numbers

    return change


def in_view(**values: int) -> Change:
    def change(sent: table_pb2.TableView) -> None:
        for name, value in values.items():
            setattr(sent, name, value)

    return change


def in_round(**values: int) -> Change:
    def change(sent: table_pb2.TableView) -> None:
        for name, value in values.items():
            setattr(sent.round, name, value)

    return change


def seat_count(sent: table_pb2.TableView) -> None:
    sent.config.seat_count = 1000


def viewer_and_turn(sent: table_pb2.TableView) -> None:
    sent.viewer = sent.round.turn.seat = 77


def foreign_turn(sent: table_pb2.TableView) -> None:
    sent.round.turn.seat = 3


def rules(sent: table_pb2.TableView) -> None:
    sent.config.rules.Clear()


def drawn(sent: table_pb2.TableView) -> None:
    sent.round.turn.has_drawn = True


def legal(*actions: Legal.ValueType) -> Change:
    def change(sent: table_pb2.TableView) -> None:
        sent.legal_actions[:] = actions

    return change


def third_copy(sent: table_pb2.TableView) -> None:
    sent.seats[1].pile.extend([common_pb2.TILE_R9] * 2)


def third_copy_taken(sent: table_pb2.TableView) -> None:
    sent.seats[1].taken.extend([common_pb2.TILE_R9] * 2)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (seats(), "0 seats"),
        (seats(0), "1 seats"),
        (seats(1, 0), "0 to 1 in order"),
        (seats(0, 1, 2, 3), "4 seats"),
        (seat_count, "seat_count is 1000"),
        (rules, "cannot be read"),
        (viewer_and_turn, "viewer is 77"),
        (in_view(viewer=-2), "viewer is -2"),
        (playing(), "playing is []"),
        (playing(0), "playing is [0]"),
        (playing(0, 1, 2, 3), "playing is [0, 1, 2, 3]"),
        (playing(-1, 0), "playing is [-1, 0]"),
        (playing(0, 0, 1), "playing is [0, 0, 1]"),
        (playing(1, 0), "playing is [1, 0]"),
        (foreign_turn, "seat 3 is to move"),
        (in_round(dealer=9), "dealer is 9"),
        (in_round(starter=-1), "starter is -1"),
        (in_round(gosterge=common_pb2.TILE_S), "gösterge S"),
        (in_round(okey=common_pb2.TILE_K2), "okey K2"),
        (third_copy, "more than twice"),
        (third_copy_taken, "more than twice"),
        (drawn, "holds 14 tiles where it holds 15"),
        (legal(Legal.LEGAL_ACTION_DISCARD), "not due"),
        (legal(Legal.LEGAL_ACTION_DRAW_DISCARD), "there is none"),
    ],
)
def test_a_view_that_no_engine_sends_is_refused_by_name(change: Change, named: str) -> None:
    sent = message()
    view_from(sent)  # is good before the change
    change(sent)
    with pytest.raises(ViewMalformed) as refused:
        view_from(sent)
    assert named in str(refused.value)


def test_after_the_draw_there_are_fifteen_tiles_and_no_second_draw() -> None:
    """U1: one draw a turn."""
    seen = view_from(message(f"{HELD} R1")).round
    assert seen is not None
    assert len(seen.rack) == 15
    with pytest.raises(ViewMalformed, match="not due"):
        view_from(message(f"{HELD} R1", [LegalAction.DRAW_STOCK]))


def test_a_waiting_seats_view_is_read() -> None:
    """Between rounds, and in others' turns, there is nothing to choose, and nothing malformed."""
    sent = message()
    sent.round.turn.seat = 1
    assert view_from(sent).round is not None
    sent.ClearField("round")
    assert view_from(sent).round is None


def eslis(seat_count: int) -> table_pb2.TableView:
    seen = view(f"{HELD} R1", piles=("",) * seat_count, mode=Mode.ESLI)
    return encode(seen, table_pb2.TableView)


def test_partners_play_four_and_all_of_them() -> None:
    """O2: two pairs; a view without an opponent, or without seats for partners, is refused."""
    sent = eslis(4)
    assert view_from(sent).config.mode is Mode.ESLI
    sent.round.playing[:] = (0, 2)
    with pytest.raises(ViewMalformed, match=r"playing is \[0, 2\], all four of ESLI play"):
        view_from(sent)
    with pytest.raises(ViewMalformed, match="seat_count is 2, ESLI has 4"):
        view_from(eslis(2))
