"""Which schemas a version of a service runs with."""

import pytest

from okey_runtime.schema import NONE, SchemaUnknown, is_newer


@pytest.mark.parametrize(
    ("schema", "newest", "expected"),
    [
        ("0006", "0005", True),
        ("0005", "0005", False),
        ("0004", "0005", False),
        # By number, not by spelling.
        ("10000", "9999", True),
        ("10", "9", True),
        (NONE, "0001", False),
    ],
)
def test_revisions_are_compared_as_numbers(schema: str, newest: str, expected: bool) -> None:
    assert is_newer(schema, newest) is expected


def test_a_revision_that_is_no_number_is_anothers() -> None:
    with pytest.raises(SchemaUnknown, match="OKEY_DATABASE_URL"):
        is_newer("8f2b1c", "0005")
