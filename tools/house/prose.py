"""Figures of the prose."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import quantiles
from typing import Final

from tools.house.files import Module

_MADE: Final = "docs/reference/"
"""Pages that are made from protos/ and code."""
_BLOCK: Final = re.compile(r"^```.*?^```|^    .*?$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_NO_SENTENCE: Final = re.compile(r"^\s*(#|\||!\[|\[[^]]+\]:)")
_ITEM: Final = re.compile(r"^\s*([-*]|\d+\.)\s+")
_END: Final = re.compile(r"(?<=[.!?:])\s+(?=[A-Z0-9`*\[\"])")
_WORD: Final = re.compile(r"`[^`]+`|[\w’'/-]+")

# Two paragraphs: verbs that take -s and -ed, and forms that take nothing.
_REGULAR, _IRREGULAR = (
    frozenset(paragraph.split())
    for paragraph in Path(__file__).with_name("verbs.txt").read_text("utf-8").split("\n\n")
)


def docs(root: Path) -> list[Path]:
    """The pages that somebody wrote."""
    pages = sorted((root / "docs").rglob("*.md"))
    return [root / "README.md", *(p for p in pages if _MADE not in p.as_posix())]


def sentences(markdown: str) -> list[int]:
    """Words of each sentence; code, tables and headings have none. Words in backticks are one."""
    paragraphs: list[list[str]] = [[]]
    for line in _BLOCK.sub("", markdown).splitlines():
        if not line.strip() or _NO_SENTENCE.match(line):
            paragraphs.append([])
        elif _ITEM.match(line):
            paragraphs.append([_ITEM.sub("", line)])
        else:
            paragraphs[-1].append(line.strip())
    parts = (part for lines in paragraphs for part in _END.split(" ".join(lines)))
    return [length for part in parts if (length := len(_WORD.findall(part)))]


def p90_words(pages: Iterable[str]) -> int:
    """What nine of ten sentences stay at or below."""
    lengths = [length for page in pages for length in sentences(page)]
    return round(quantiles(lengths, n=10)[-1])


def has_verb(sentence: str) -> bool:
    """Whether a verb of the list stands in it, as ``reads`` or ``read``; nouns that look like
    verbs pass too, so the true number of sentences without one is higher.
    """
    words = [word.lower() for word in re.findall(r"[A-Za-z]+", sentence)]
    return any(word in _IRREGULAR or _is_verb(word) for word in words)


def _is_verb(word: str) -> bool:
    stems = {word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("ed")}
    stems |= {
        word.removesuffix("d"),
        f"{word.removesuffix('ies')}y",
        f"{word.removesuffix('ied')}y",
    }
    return not _REGULAR.isdisjoint(stems)


def docstrings_without_verb(modules: Iterable[Module]) -> list[str]:
    """Modules, public classes and functions whose docstring begins without a verb."""
    return [
        where
        for module in modules
        for where, text in _docstrings(module)
        if not has_verb(text.partition("\n\n")[0])
    ]


def _docstrings(module: Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = getattr(node, "name", "")
            text = ast.get_docstring(node)
            if text and not name.startswith("_"):
                yield f"{module.path}:{name}".rstrip(":"), text
