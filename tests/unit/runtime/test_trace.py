import contextvars

import pytest

from okey_runtime.trace import adopt_trace, outgoing_trace

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
GIVEN = f"00-{TRACE_ID}-00f067aa0ba902b7-01"


def served(*metadata: tuple[str, str | bytes]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The trace's id and what goes out, in a call that came with the metadata."""
    return contextvars.copy_context().run(lambda: (adopt_trace(metadata), outgoing_trace()))


def test_a_trace_is_carried_on_under_its_id() -> None:
    trace_id, ((key, value),) = served(("x", "y"), ("traceparent", GIVEN))
    assert trace_id == TRACE_ID
    assert key == "traceparent"
    version, carried, span, flags = value.split("-")
    assert (version, carried, flags) == ("00", TRACE_ID, "01")
    assert len(span) == 16
    assert span != "00f067aa0ba902b7"


@pytest.mark.parametrize(
    "value",
    ["", "00", GIVEN.upper(), f"{GIVEN}-x", GIVEN.replace(TRACE_ID, "0" * 32), GIVEN.encode()],
    ids=["empty", "short", "upper case", "long", "zeros", "bytes"],
)
def test_a_malformed_trace_is_replaced(value: str | bytes) -> None:
    trace_id, _ = served(("traceparent", value))
    assert len(trace_id) == 32
    assert trace_id not in (TRACE_ID, "0" * 32)


def test_each_call_without_a_trace_begins_its_own() -> None:
    assert served()[0] != served()[0]


def test_outside_of_a_call_no_trace_goes_out() -> None:
    assert contextvars.Context().run(outgoing_trace) == ()
