"""The engine's tables as players see them in the list."""

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.api.lobby.v1 import lobby_pb2
from services.lobby.listed import is_listed, listed

FREE, PAID, DECIDING = (
    table_pb2.SEAT_STATUS_FREE,
    table_pb2.SEAT_STATUS_PAID,
    table_pb2.SEAT_STATUS_DECIDING,
)


def summary(
    phase: table_pb2.Phase.ValueType,
    *statuses: table_pb2.SeatStatus.ValueType,
    mode: common_pb2.Mode.ValueType = common_pb2.MODE_NORMAL,
) -> engine_pb2.TableSummary:
    seats = [
        table_pb2.SeatView(
            seat=seat,
            status=status,
            control=table_pb2.CONTROL_NOBODY if status == FREE else table_pb2.CONTROL_PERSON,
            player="" if status == FREE else f"player-{seat}",
            display_name="" if status == FREE else f"Player {seat}",
        )
        for seat, status in enumerate(statuses)
    ]
    return engine_pb2.TableSummary(
        table_id="t" * 26,
        phase=phase,
        variant=common_pb2.VARIANT_CANAK,
        mode=mode,
        seat_count=len(seats),
        stake=70,
        turn_timeout_ms=15_000,
        bot_level=common_pb2.BOT_LEVEL_NORMAL,
        house_fill_after_ms=9_000,
        kasa=28,
        seats=seats,
        created_ms=123,
    )


def test_newcomers_see_the_kasa_and_the_free_seats_of_a_nachspiel() -> None:
    """Ç8, Ç9: who takes one plays for the grown kasa, with those who stay."""
    shown = listed(summary(table_pb2.PHASE_NACHSPIEL, DECIDING, FREE, PAID, FREE))
    assert shown == lobby_pb2.ListedTable(
        table_id="t" * 26,
        terms=lobby_pb2.TableTerms(
            variant=common_pb2.VARIANT_CANAK,
            mode=common_pb2.MODE_NORMAL,
            seat_count=4,
            stake=70,
            turn_timeout_ms=15_000,
        ),
        taken_seats=[
            lobby_pb2.ListedSeat(seat=0, display_name="Player 0"),
            lobby_pb2.ListedSeat(seat=2, display_name="Player 2"),
        ],
        is_joinable=True,
        is_nachspiel=True,
        kasa=28,
        house_fill_after_ms=9_000,
        created_ms=123,
    )
    assert b"player-0" not in shown.SerializeToString(), "no player ids in the list"


def test_a_kasa_is_shown_while_a_canak_table_waits() -> None:
    """Ç8, Ç9: also after the time to decide, and for nobody else than before."""
    shown = listed(summary(table_pb2.PHASE_WAITING, PAID, FREE))
    assert (shown.kasa, shown.is_joinable, shown.is_nachspiel) == (28, True, False)


@pytest.mark.parametrize(
    ("phase", "is_joinable", "is_playing"),
    [
        (table_pb2.PHASE_WAITING, True, False),
        (table_pb2.PHASE_COUNTDOWN, False, False),
        (table_pb2.PHASE_STARTING, False, False),
        (table_pb2.PHASE_PLAYING, False, True),
        (table_pb2.PHASE_PAUSE, False, True),
        (table_pb2.PHASE_SETTLING, False, False),
        (table_pb2.PHASE_NACHSPIEL, True, False),
    ],
)
def test_seats_are_open_while_a_table_waits(
    phase: table_pb2.Phase.ValueType, is_joinable: bool, is_playing: bool
) -> None:
    """W1, Ç9."""
    shown = listed(summary(phase, PAID, FREE))
    assert (shown.is_joinable, shown.is_playing) == (is_joinable, is_playing)


def test_a_full_table_and_a_solo_table_take_nobody() -> None:
    assert not listed(summary(table_pb2.PHASE_WAITING, PAID, PAID)).is_joinable
    solo = listed(summary(table_pb2.PHASE_NACHSPIEL, PAID, FREE, mode=common_pb2.MODE_SOLO))
    assert (solo.is_joinable, solo.bot_level) == (False, common_pb2.BOT_LEVEL_NORMAL)


def test_what_is_in_no_list() -> None:
    """A private table, one that is over, and one that stands still."""
    waiting = summary(table_pb2.PHASE_WAITING, PAID, FREE)
    assert is_listed(waiting)
    waiting.is_private = True
    assert not is_listed(waiting)
    assert not is_listed(summary(table_pb2.PHASE_CLOSED, FREE, FREE))
    assert not is_listed(engine_pb2.TableSummary(table_id="q" * 26, is_quarantined=True))
