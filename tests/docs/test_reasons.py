"""Every reason that a caller may see is produced by a test, which expects it.

A test expects a reason by its text, or by the error that has it: `pytest.raises(SeatTaken)`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.docs.blocks import ROOT
from tests.unit.test_error_reasons import named_errors
from tools.reference import guide

TESTS = ROOT / "tests"
BASE = "Base."
"""What docs/api.md says of a reason that only its subclasses are sent with."""

NEVER_SENT = {"OKEY_ERROR", "DECLINED"}
"""Bases whose rows say more than that."""


def reasons_by_class() -> dict[str, str]:
    """Class name -> reason, of every named error."""
    return {error.__name__: error.reason for error in named_errors()}


def expected_in(source: str, by_class: dict[str, str]) -> Iterator[str]:
    """The reasons that a test's source expects.

    A text counts wherever it is compared or passed on for that; a class in `raises`, as the
    `.reason` of itself, or as an argument, such as one of a table of cases.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in by_class:
                yield by_class[name]


def sources() -> Iterator[Path]:
    """Every test but the lists of reasons."""
    for path in sorted(TESTS.rglob("test_*.py")):
        if path.name not in ("test_reasons.py", "test_error_reasons.py"):
            yield path


def test_every_reason_is_expected_by_a_test() -> None:
    by_class = reasons_by_class()
    expected = {
        reason for path in sources() for reason in expected_in(path.read_text("utf-8"), by_class)
    }
    documented = guide.reasons(guide.PAGE.read_text("utf-8"))
    sent = {
        name for name, row in documented.items() if row.advice != BASE and name not in NEVER_SENT
    }
    assert sorted(sent - expected) == []
    assert len(sent) > 150


def test_a_text_and_an_error_count_and_prose_does_not() -> None:
    source = (
        '"""Not GONE."""\nassert failure.reason == "SEAT_TAKEN"\nwith raises(errors.Gone): ...\n'
    )
    found = set(expected_in(source, {"Gone": "GONE_FOR_GOOD"}))
    assert {"SEAT_TAKEN", "GONE_FOR_GOOD"} <= found
    assert "GONE" not in found
