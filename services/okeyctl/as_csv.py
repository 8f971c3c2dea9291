"""Rows as CSV, for programs and for spreadsheets, which take some texts for formulas."""

import csv
import io
from collections.abc import Iterable
from typing import Final, TypeAlias

Cell: TypeAlias = str | int

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A text that begins with one of these may be run by a spreadsheet (OWASP: CSV injection)."""


def csv_text(rows: Iterable[Iterable[Cell]]) -> str:
    """One line a row (RFC 4180). A text that looks like a formula begins with an apostrophe, which
    a spreadsheet takes as "this is text". Numbers stay numbers, with their signs.
    """
    text = io.StringIO()
    # With CR and LF as the end of a line, cells that hold either are quoted.
    csv.writer(text, lineterminator="\r\n").writerows([_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _cell(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell
