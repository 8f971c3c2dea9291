"""Comments of the protos speak of what the interface has, not of the code behind it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROTOS = sorted((Path(__file__).resolve().parents[2] / "protos").rglob("v1/*.proto"))
MESSAGE = re.compile(
    r"(?P<comment>(?:^//[^\n]*\n)+)message (?P<name>\w+) \{(?P<body>.*?)\}\n", re.M | re.S
)
ENTRY = re.compile(r"(?P<comment>(?:^ +//[^\n]*\n)+) +(?P<type>\w+) \w+ = \d+", re.M)
FIELD = re.compile(r"\b(\w+) = \d+")
QUOTED = re.compile(r"`([a-z][a-z0-9_]*)`")
PYTHON = re.compile(r"\b(?:None|True|False|dict|tuple|dataclass)\b")


def fields_of_messages() -> dict[str, set[str]]:
    return {
        f"{file.parts[-3]}.{found['name']}": set(FIELD.findall(found["body"]))
        for file in PROTOS
        for found in MESSAGE.finditer(file.read_text("utf-8"))
    }


def events() -> Iterator[tuple[str, str, str]]:
    """File, event and each comment on it: its message's, and that of its entry in the oneof."""
    for file in PROTOS:
        text, folder = file.read_text("utf-8"), file.parts[-3]
        if folder not in ("events", "journal"):
            continue
        names = {found["name"] for found in MESSAGE.finditer(text)}
        for found in MESSAGE.finditer(text):
            yield folder, found["name"], found["comment"]
        oneof = text[text.index("oneof event {") :]
        for entry in ENTRY.finditer(oneof[: oneof.index("\n  }")]):
            if entry["type"] in names:
                yield folder, entry["type"], entry["comment"]


def test_a_comment_on_an_event_names_only_fields_that_it_has() -> None:
    fields = fields_of_messages()
    # What another event is called may be named too.
    kinds = {re.sub(r"(?<!^)(?=[A-Z])", "_", name.split(".")[1]).lower() for name in fields}
    checked = list(events())
    assert len(checked) > 100
    assert [
        (f"{folder}.{name}", quoted)
        for folder, name, comment in checked
        for quoted in QUOTED.findall(comment)
        if quoted not in fields[f"{folder}.{name}"] | kinds
    ] == []


@pytest.mark.parametrize("file", PROTOS, ids=lambda file: file.name)
def test_no_comment_speaks_python(file: Path) -> None:
    comments = re.findall(r"//[^\n]*", file.read_text("utf-8"))
    assert [comment for comment in comments if PYTHON.search(comment)] == []
