"""A code is read however people type it, and nothing is made of what is none."""

import pytest

from okey_runtime.typed_codes import folded


@pytest.mark.parametrize(
    "typed",
    [
        "01ab-1CDE",
        " 01AB 1CDE\n",
        "01AB\u00a01CDE",  # no-break space
        "01AB\u20131CDE",  # en dash
        "01AB\u22121CDE\r\n",  # minus sign
        "\ufeff01AB\u200b1CDE",  # what messengers put in
        "\uff10\uff11\uff21\uff22-1cde",  # wide forms
        "oiab\u2014lcde",
        "0İabıcde",
        "0ıABİCDE",
    ],
)
def test_a_code_is_read_however_it_is_typed(typed: str) -> None:
    assert folded(typed) == "01AB1CDE"
    assert folded(folded(typed)) == folded(typed)


def test_nothing_is_left_of_what_has_no_letter() -> None:
    assert folded(" \u00a0\u2013\n") == ""
