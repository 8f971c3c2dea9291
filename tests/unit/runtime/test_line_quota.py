"""What strangers cause is logged once in ten seconds, and counted."""

from structlog.testing import capture_logs

from okey.errors import NotFound
from okey_runtime.clock import VirtualClock
from okey_runtime.line_quota import EVERY_MS, LineQuota
from okey_runtime.logging import get_logger
from okey_runtime.unforeseen import status_for

_log = get_logger(__name__)


def test_a_line_of_a_kind_is_written_in_ten_seconds_and_says_how_many_were_left_out() -> None:
    clock = VirtualClock()
    lines = LineQuota(clock)
    with capture_logs() as logged:
        for _ in range(3):
            lines.warn(_log, "host_limited", host="10.0.0.1")
        lines.warn(_log, "player_limited")
        clock.advance_ms(EVERY_MS)
        lines.warn(_log, "host_limited", host="10.0.0.2")
    told = [(line["event"], line["left_out"]) for line in logged]
    assert told == [("host_limited", 0), ("player_limited", 0), ("host_limited", 2)]


def _breaks(here: bool) -> None:
    if here:
        raise ValueError("hidden here")
    raise ValueError("hidden there")


def _status_of(here: bool) -> str:
    try:
        _breaks(here)
    except ValueError as error:
        return str(status_for(error).message)
    raise AssertionError


def test_errors_raised_at_one_place_share_a_line_and_its_id() -> None:
    with capture_logs() as logged:
        first, second, other = _status_of(True), _status_of(True), _status_of(False)
    assert first == second != other
    ids = [line["error_id"] for line in logged]
    assert len(ids) == 2
    assert ids[0] in first
    assert ids[1] in other


def test_a_foreseen_error_is_no_line() -> None:
    with capture_logs() as logged:
        assert "no such table" in status_for(NotFound("no such table")).message
    assert logged == []
