"""CSV that no spreadsheet runs."""

import ast
import csv
import io
from pathlib import Path

import pytest

from services.okeyctl.as_csv import csv_text

ROOT = Path(__file__).resolve().parents[3]
THE_HELPER = ROOT / "services" / "okeyctl" / "as_csv.py"


def read_back(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_a_text_that_looks_like_a_formula_is_defused(start: str) -> None:
    assert read_back(csv_text([[f"{start}1+1"]])) == [[f"'{start}1+1"]]


def test_numbers_stay_numbers_and_other_texts_as_they_are() -> None:
    assert csv_text([[-70, 1_000, "a = b", "2-3", ""]]) == "-70,1000,a = b,2-3,\r\n"


@pytest.mark.parametrize("inside", ["a\r=1+1", "a\n=1+1", "a,=1+1", 'a",=1+1'])
def test_a_text_cannot_begin_another_cell(inside: str) -> None:
    """A spreadsheet takes a lone CR for the end of a line, so it is quoted as well."""
    text = csv_text([[inside, 7]])
    assert text.startswith('"')
    assert read_back(text) == [[inside, "7"]]


def imports_csv(file: Path) -> bool:
    imported = {
        name.name.partition(".")[0] if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    return "csv" in imported


def test_everything_that_writes_csv_goes_through_the_helper() -> None:
    files = [
        file
        for part in ("libs", "services", "tools", "examples")
        for file in ROOT.joinpath(part).rglob("*.py")
    ]
    assert [file for file in files if imports_csv(file)] == [THE_HELPER]
