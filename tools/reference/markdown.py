"""Small pieces of Markdown, and the anchors that headings get."""

import re
from collections.abc import Iterable
from typing import Final

_NO_ANCHOR: Final = re.compile(r"[^\w\- ]")


def anchor(heading: str) -> str:
    """The anchor of a heading: small letters, without punctuation, hyphens for spaces."""
    return _NO_ANCHOR.sub("", heading.lower()).replace(" ", "-")


def plain(text: str) -> str:
    """Text of a comment as Markdown: nothing in it but code spans is markup."""
    parts = text.split("`")
    parts[::2] = [part.replace("<", "&lt;").replace("*", r"\*") for part in parts[::2]]
    return "`".join(parts)


def cell(text: str) -> str:
    """Text for one cell of a table: on one line, its bars escaped."""
    return " ".join(text.split()).replace("|", r"\|")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table, line by line; nothing where it has no row."""
    lines = [f"| {' | '.join(cell(each) for each in row)} |" for row in rows]
    columns = list(head)
    if not lines:
        return []
    return [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *lines, ""]
