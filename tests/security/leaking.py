"""What no log, metric or error may hold, and a search for it in text.

Tiles are looked for as a person would write them and as programs do: names, or numbers in a list;
racks and stocks in any order that somebody may have sorted them. Seeds and nonces are looked for as
hex, as base64, and as Python writes bytes.
"""

import base64
import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Final

from okey.rules.tile import Tile

_WINDOW: Final = 6
"""Tiles in a row; by chance they stand in no text."""

_NAMED: Final = re.compile(r"\b(?:TILE_|Tile\.)?([RYBK](?:1[0-3]|[1-9]))\b")
_REPR: Final = re.compile(r"<Tile\.\w+: (\d+)>")
_LIST: Final = re.compile(r"(?:\b\d{1,2}\b[\s,;|]+){5,}\d{1,2}\b")
_ENUM: Final = re.compile(r"\b(?:TILE_|Tile\.)(?:[RYBK]\d|S\b)")
_KEY: Final = re.compile(r'"(?:rack|racks|stock|seed|nonce|nonces|tile|tiles|hand|hands|drawn)":')
_TOKEN: Final = re.compile(r"\beyJ[\w-]{10,}\.[\w-]{10,}")
_HEX: Final = re.compile(r"[0-9a-f]{64,}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{43,}")
_NUMBERS: Final = {tile.name: int(tile) for tile in Tile}


class Secrets:
    """What is looked for: ``texts`` by what they are, and tiles in a row."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._forms: dict[str, str] = {}
        self._runs: set[tuple[int, ...]] = set()

    @property
    def size(self) -> int:
        """How much is looked for."""
        return len(self._texts) + len(self._forms) + len(self._runs)

    def add_text(self, what: str, text: str) -> None:
        """A token, a key or a password."""
        assert len(text) >= 8, f"{what} would be found everywhere"
        self._texts[text] = what

    def add_bytes(self, what: str, content: bytes) -> None:
        """A seed or a nonce, in every form in which a program writes bytes."""
        encoded = base64.b64encode(content).decode().rstrip("=")
        for form in (content.hex(), encoded, encoded.translate({43: 45, 47: 95})):
            self._forms[form] = what
        self._forms[repr(content)[2:-1].replace("\\\\", "\\")[:24]] = what

    def add_tiles(self, tiles: tuple[Tile, ...]) -> None:
        """A rack or a stock."""
        numbers = tuple(map(int, tiles))
        for order in (numbers, numbers[::-1], tuple(sorted(numbers))):
            for start in range(len(order) - _WINDOW + 1):
                self._runs.add(order[start : start + _WINDOW])

    def add_event(self, event: object) -> None:
        """Everything hidden in an event of a table's journal."""
        for name, value in _leaves(event):
            if isinstance(value, bytes) and len(value) == 32 and not name.endswith("commitment"):
                self.add_bytes(name, value)
            elif isinstance(value, tuple):
                self.add_tiles(value)

    def in_text(self, text: str) -> Iterator[str]:
        """What of it the text holds, or what looks like it."""
        for needle, what in self._texts.items():
            if needle in text:
                yield f"{what}: {needle[:12]}..."
        yield from self._bytes_in(text)
        if found := _TOKEN.search(text):
            yield f"a token: {found[0][:12]}..."
        yield from self._tiles_in(text)

    def in_log(self, text: str) -> Iterator[str]:
        """The same in what never has a reason to name any tile."""
        yield from self.in_text(text)
        for pattern in (_ENUM, _KEY):
            if found := pattern.search(text):
                yield f"{found[0]} in {text[max(0, found.start() - 60) : found.end() + 60]!r}"

    def _bytes_in(self, text: str) -> Iterator[str]:
        for pattern, length in ((_HEX, 64), (_BASE64, 43)):
            for run in pattern.findall(text.lower() if length == 64 else text):
                for start in range(len(run) - length + 1):
                    if what := self._forms.get(run[start : start + length]):
                        yield f"{what}: {run[:12]}..."
        for run in _escaped(text):
            for start in range(len(run) - 23):
                if what := self._forms.get(run[start : start + 24]):
                    yield f"{what} as Python writes it"

    def _tiles_in(self, text: str) -> Iterator[str]:
        text = _REPR.sub(r"\1", text)
        plain = _NAMED.sub(lambda named: str(_NUMBERS[named[1]]), text)
        for found in _LIST.finditer(plain):
            numbers = tuple(int(number) for number in re.findall(r"\d+", found[0]))
            for start in range(len(numbers) - _WINDOW + 1):
                if numbers[start : start + _WINDOW] in self._runs:
                    yield f"tiles in a row: {found[0]}"
                    break


def _escaped(text: str) -> Iterator[str]:
    """Lines in which bytes stand as Python writes them, slashes doubled by JSON or not."""
    for line in text.replace("\\\\", "\\").splitlines():
        if line.count("\\x") >= 4:
            yield line


def _leaves(event: object) -> Iterator[tuple[str, object]]:
    """Each field that is bytes, or tiles in a row, however deep."""
    if not dataclasses.is_dataclass(event):
        return
    for field in dataclasses.fields(event):
        yield from _in_value(field.name, getattr(event, field.name))


def _in_value(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, bytes) or (isinstance(value, tuple) and _is_tiles(value)):
        yield name, value
    elif isinstance(value, tuple):
        for each in value:
            yield from _in_value(name, each)
    else:
        yield from _leaves(value)


def _is_tiles(values: Iterable[object]) -> bool:
    found = list(values)
    return bool(found) and all(isinstance(value, Tile) for value in found)
