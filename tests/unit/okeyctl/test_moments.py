"""Dates and times that people type."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main

from services.okeyctl.app import app
from services.okeyctl.moments import TIME, Named, named, span_ms

MIDNIGHT_MS = 1_796_083_200_000
"""2026-12-01T00:00:00Z."""
DAY_MS = 86_400_000


def options(group: Any) -> Iterator[Any]:
    """Those of every command. (Typer brings a click of its own, so no type of click's fits.)"""
    for command in getattr(group, "commands", {}).values():
        yield from (each for each in command.params if each.param_type_name == "option")
        yield from options(command)


def test_a_bare_date_is_its_whole_day_in_utc() -> None:
    assert named("--until", "2026-12-01") == Named(MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS)


@pytest.mark.parametrize(
    "text", ["2026-12-01T00:00:00Z", "2026-12-01T03:00:00+03:00", "2026-12-01 00:00Z"]
)
def test_a_time_is_one_moment(text: str) -> None:
    assert named("--until", text) == Named(MIDNIGHT_MS, MIDNIGHT_MS)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("yesterday", "'yesterday' is no time"),
        ("2026-02-30", "'2026-02-30' is no time"),
        ("01.12.2026", "'01.12.2026' is no time"),
        ("", "'' is no time"),
        ("2026-12-01T10:00:00", "no time zone"),
        ("1969-12-31", "before 1970"),
        ("0001-01-01T00:00:00+14:00", "before 1970"),
    ],
)
def test_what_is_no_time_ends_the_command(
    text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((typer.Exit, SystemExit)):
        named("--from", text)
    assert says in capsys.readouterr().err


def test_the_last_day_of_all_can_be_named() -> None:
    assert named("--until", "9999-12-31").end_ms == named("--from", "9999-12-31").first_ms + DAY_MS


def test_a_span_of_one_date_is_that_day() -> None:
    assert span_ms("2026-12-01", "2026-12-01") == (MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS)
    assert span_ms(None, None) == (0, 0)


@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("2026-12-02", "2026-12-01"),
        ("2026-12-02", "2026-11-30"),
        ("2026-12-01T10:00:01Z", "2026-12-01T10:00:00Z"),
    ],
)
def test_a_span_that_ends_before_it_begins_ends_the_command(
    since: str, until: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((typer.Exit, SystemExit)):
        span_ms(since, until)
    assert f"--from {since} is after --until {until}" in capsys.readouterr().err


def test_every_command_that_takes_a_date_says_what_a_bare_one_means() -> None:
    dated = [each for each in options(typer.main.get_command(app)) if each.metavar == TIME]
    assert sorted(each.opts[0] for each in dated) == ["--before", "--expires", "--from", "--until"]
    assert [each.opts for each in dated if "day" not in each.help] == []


def test_dates_are_read_in_one_place() -> None:
    reads = re.compile(r"fromisoformat|strptime|Annotated\[\s*(date|datetime)\b")
    services = Path(__file__).resolve().parents[3] / "services"
    files = [file for file in services.rglob("*.py") if reads.search(file.read_text("utf-8"))]
    assert [file.name for file in files] == ["moments.py"]
