"""The tables of docs/rating.md."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "rating.md").read_text("utf-8")

Table = list[list[str]]


def tables() -> dict[str, Table]:
    """Every table of the page by the first cell of its head; the head is its first row."""
    found = {}
    for block in re.findall(r"(?:^\|.*\|$\n?)+", PAGE, re.MULTILINE):
        rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in block.splitlines()]
        found[rows[0][0]] = [rows[0], *rows[2:]]
    return found


TABLES = tables()
