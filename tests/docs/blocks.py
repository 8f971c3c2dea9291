"""Fenced blocks of Markdown pages, and which of them are run.

The word after the language says what a test does with a block:

    ```sh run                 a command, run with those before it on the page, in one shell
    ```sh run cluster         the same against a cluster, as `make cluster` starts one
    ```python file=a.py       written to that file, for the commands that follow
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
CODE: Final = frozenset({"sh", "python", "js"})
"""Languages whose blocks a reader copies and runs."""

_FENCE: Final = re.compile(
    r"^```(?P<language>[a-z]+)(?P<words>(?: \S+)*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: where it stands, and what the fence says about it."""

    page: str
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def is_run(self) -> bool:
        """Whether it is a command that a test runs."""
        return self.language == "sh" and "run" in self.words

    @property
    def is_for_a_cluster(self) -> bool:
        """Whether it is run against several processes of each service."""
        return self.is_run and "cluster" in self.words

    @property
    def file(self) -> str | None:
        """The file that its text is written to."""
        names = [word.removeprefix("file=") for word in self.words if word.startswith("file=")]
        return names[0] if names else None

    @property
    def first_line(self) -> str:
        """Its first command without the remark behind it: what a test names it by."""
        return re.split(r"\s{2,}|\s#", self.text.partition("\n")[0])[0]


def pages() -> list[Path]:
    """Every page that a reader may come across."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/*.md")])


def blocks_of(page: str, text: str) -> list[Block]:
    """The fenced blocks with a language, in order."""
    return [
        Block(
            page,
            text[: found.start()].count("\n") + 1,
            found["language"],
            tuple(found["words"].split()),
            found["text"],
        )
        for found in _FENCE.finditer(text)
    ]


def all_blocks() -> list[Block]:
    """Those of every page."""
    return [
        block
        for path in pages()
        for block in blocks_of(str(path.relative_to(ROOT)), path.read_text("utf-8"))
    ]
