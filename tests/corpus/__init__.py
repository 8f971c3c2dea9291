"""Old journals, kept as bytes: what was written once must replay for good.

Each folder of ``tests/data/events`` is a generation: journals of some tables as the engine of that
day wrote them, and after every row a digest of the state, over the fields that the state then had.
``python -m tests.corpus <name>`` writes a new generation; one that is there is never changed.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

from okey.table.events import Event
from okey.table.state import TableState

FOLDER: Final = Path(__file__).resolve().parents[1] / "data" / "events"
_SHAPE: Final = "shape.json"

Shape = Mapping[str, list[str]]
"""The fields of each dataclass in a state, by class name."""


class OldRow(NamedTuple):
    """A row as it was written, and the digest of the state after it."""

    seq: int
    at_ms: int
    payload: bytes
    digest: str


def generations() -> list[Path]:
    """The folders, oldest first."""
    return sorted(path.parent for path in FOLDER.glob(f"*/{_SHAPE}"))


def journals(generation: Path) -> list[Path]:
    """The tables of a generation."""
    return sorted(generation.glob("*.jsonl"))


def shape_of(generation: Path) -> Shape:
    """What its digests are over."""
    shape: Shape = json.loads((generation / _SHAPE).read_text("utf-8"))
    return shape


def rows(journal: Path) -> Iterator[OldRow]:
    """The rows of one table."""
    for line in journal.read_text("utf-8").splitlines():
        seq, at_ms, payload, digest = json.loads(line)
        yield OldRow(seq, at_ms, b64decode(payload), digest)


def write(generation: Path, shape: Shape, tables: Mapping[str, list[OldRow]]) -> None:
    """Write a new generation; raises ``FileExistsError`` for one that is there."""
    generation.mkdir(parents=True)
    text = json.dumps(shape, indent=1, sort_keys=True)
    (generation / _SHAPE).write_text(text + "\n", "utf-8")
    for name, old_rows in tables.items():
        lines = [
            json.dumps([row.seq, row.at_ms, b64encode(row.payload).decode(), row.digest])
            for row in old_rows
        ]
        (generation / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def everything() -> set[str]:
    """The events, and their fields that came later or are often left out: those with a default."""
    events = get_args(Event)
    return {each.__name__ for each in events} | {
        f"{each.__name__}.{field.name}"
        for each in events
        for field in fields(each)
        if field.default is not MISSING
    }


def shown_in(events: Iterable[Event]) -> set[str]:
    """What of ``everything`` these events show: a field by another value than its default."""
    shown = set()
    for event in events:
        shown.add(type(event).__name__)
        for field in fields(event):
            if field.default is not MISSING and getattr(event, field.name) != field.default:
                shown.add(f"{type(event).__name__}.{field.name}")
    return shown


def digest_of(state: TableState, shape: Shape) -> str:
    """16 hexadecimal digits over every field that the shape names."""
    text = json.dumps(_plain(state, shape), separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:16]


def shapes_in(value: Any) -> dict[str, list[str]]:
    """The fields of every dataclass in a value."""
    found: dict[str, list[str]] = {}
    if is_dataclass(value):
        found[type(value).__name__] = [field.name for field in fields(value)]
        for field in fields(value):
            found |= shapes_in(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            found |= shapes_in(item)
    return found


def _plain(value: Any, shape: Shape) -> Any:
    if is_dataclass(value):
        names = shape[type(value).__name__]
        return [[name, _plain(getattr(value, name), shape)] for name in names]
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple):
        return [_plain(item, shape) for item in value]
    return value.hex() if isinstance(value, bytes) else value
