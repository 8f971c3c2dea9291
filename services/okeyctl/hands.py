"""``okeyctl hands``: judges hands written as JSON lines (H1..H6)."""

import json
import os
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from typing import TextIO

from okey.errors import InvalidInput
from okey.rules.hand import classify
from okey.rules.tile import Tile, okey_of
from services.okeyctl.ending import FINDINGS, UNUSABLE


class MalformedLine(InvalidInput):
    """A line that is not ``{"gosterge": "R7", "tiles": [14 tiles]}``."""

    reason = "MALFORMED_LINE"


def run_on(given: TextIO | None, out: TextIO | None) -> int:
    """``run`` on standard input and output, which are None where the caller has closed them.

    Where they cannot be read or written the status is 2, and a line on standard error says why.
    """
    if given is None or out is None:
        return _unusable(f"standard {'input' if given is None else 'output'} is closed")
    if isinstance(given, TextIOWrapper):
        # Bytes that are no UTF-8 spoil their own line, not those after it.
        given.reconfigure(encoding="utf-8", errors="replace")
    try:
        status = run(given, out)
        out.flush()
    except OSError as error:
        # The rest of the answers would fail again when the interpreter flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        return _unusable(f"standard input or output fails: {error.strerror or error}")
    return status


def _unusable(why: str) -> int:
    print(f"okeyctl hands: {why}; not every hand was judged", file=sys.stderr)
    return UNUSABLE


def run(lines: Iterable[str], out: TextIO) -> int:
    """Answers each line of ``lines`` with one JSON line on ``out``; returns the exit status.

    A good line is an object with ``gosterge`` (a number tile) and ``tiles`` (14 tiles); its answer
    is ``{"forms": [...]}`` with any of normal, okeys, pairs, sorted. Further keys are passed over.
    The answer to a bad line, an empty one included, is ``{"error": "..."}``: so answer n always
    belongs to line n. The status is 1 if any line was bad, else 0.
    """
    status = 0
    for line in lines:
        try:
            answer: dict[str, list[str] | str] = {"forms": forms_of(line)}
        except InvalidInput as error:
            answer = {"error": str(error)}
            status = FINDINGS
        out.write(json.dumps(answer) + "\n")
    return status


def forms_of(line: str) -> list[str]:
    """The forms of the hand in one JSON line, sorted.

    Raises ``MalformedLine``, or the named error of the tile or the hand that is wrong.
    """
    hand = _object(line)
    gosterge, tiles = hand.get("gosterge"), hand.get("tiles")
    if not isinstance(gosterge, str):
        raise MalformedLine(f"gosterge is {_shown(gosterge)}: write a number tile such as 'R7'")
    if not isinstance(tiles, list):
        raise MalformedLine(f"tiles is {_shown(tiles)}: write a list of 14 tiles")
    for tile in tiles:
        if not isinstance(tile, str):
            raise MalformedLine(f"{_shown(tile)} among the tiles: write each as text such as 'R7'")
    okey = okey_of(Tile.parse(gosterge))
    return sorted(form.value for form in classify([Tile.parse(tile) for tile in tiles], okey))


def _object(line: str) -> dict[str, object]:
    try:
        value: object = json.loads(line)
    except ValueError as error:
        raise MalformedLine(f"not JSON: {error}") from error
    except RecursionError as error:
        raise MalformedLine("not JSON that can be read: nested too deep") from error
    if not isinstance(value, dict):
        raise MalformedLine(f"{_shown(value)} where an object with gosterge and tiles is wanted")
    return value


def _shown(value: object) -> str:
    """The value as JSON, cut to a readable length."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
