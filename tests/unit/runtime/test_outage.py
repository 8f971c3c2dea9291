from contextlib import suppress

import structlog

from okey_runtime.outage import Outage


class Away(Exception):
    """It is away."""


def told(logged: list[structlog.typing.EventDict]) -> list[tuple[str, str]]:
    return [(line["event"], line["log_level"]) for line in logged if line["log_level"] != "debug"]


def fail(outage: Outage) -> None:
    with suppress(Away), outage.asking():
        raise Away("gone")


def test_an_outage_is_told_when_it_begins_and_when_it_is_over() -> None:
    outage = Outage("wallet", Away, sink="w")
    with structlog.testing.capture_logs() as logged:
        for _ in range(3):
            fail(outage)
        with outage.asking():
            pass
        with outage.asking():
            pass
        fail(outage)
    assert told(logged) == [
        ("wallet_away", "warning"),
        ("wallet_back", "info"),
        ("wallet_away", "warning"),
    ]
    (back,) = (line for line in logged if line["event"] == "wallet_back")
    assert (back["failures"], back["sink"]) == (3, "w")


def test_an_answer_to_what_was_asked_before_ends_nothing() -> None:
    outage = Outage("wallet", Away)
    with structlog.testing.capture_logs() as logged:
        with outage.asking():
            fail(outage)
        fail(outage)
    assert told(logged) == [("wallet_away", "warning")]


def test_other_errors_are_no_outage() -> None:
    outage = Outage("wallet", Away)
    with structlog.testing.capture_logs() as logged, suppress(ValueError), outage.asking():
        raise ValueError("something else")
    assert logged == []
