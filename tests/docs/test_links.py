"""Links of README and docs lead to files that are there, and to headings that these have."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, pages
from tools.reference.markdown import anchor

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")


def links(text: str) -> list[str]:
    """Where a page's links lead, without those in code."""
    return LINK.findall(CODE.sub("", FENCED.sub("", text)))


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings; a heading that stands twice has a number behind."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCED.sub("", text)):
        name = anchor(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading))
        number = 0
        while (again := f"{name}-{number}" if number else name) in found:
            number += 1
        found.add(again)
    return found


def broken(path: Path) -> Iterator[str]:
    """What is wrong with the links of one page."""
    for link in links(path.read_text("utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, fragment = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if not target.exists():
            yield f"{link}: there is no such file"
        elif fragment and fragment not in anchors(target.read_text("utf-8")):
            yield f"{link}: there is no such heading"


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_are_there(path: Path) -> None:
    assert list(broken(path)) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    (tmp_path / "b.md").write_text("# One, two\n# One, two\n```\n# No\n```\n")
    page.write_text("[x](b.md#one-two) [x](b.md#one-two-1) [x](https://x) `[x](c.md)` [x](#top)\n")
    assert list(broken(page)) == ["#top: there is no such heading"]
    page.write_text("[x](c.md) [x](b.md#no)\n")
    assert list(broken(page)) == [
        "c.md: there is no such file",
        "b.md#no: there is no such heading",
    ]


def test_every_page_is_reached_from_the_readme() -> None:
    """A page that nothing leads to is read by nobody."""
    seen, left = set(), [ROOT / "README.md"]
    while left:
        path = left.pop()
        if path in seen or path.suffix != ".md":
            continue
        seen.add(path)
        for link in links(path.read_text("utf-8")):
            target = (path.parent / link.partition("#")[0]).resolve()
            left += sorted(target.glob("*.md")) if target.is_dir() else [target]
            left = [each for each in left if each.is_file()]
    assert sorted(str(p.relative_to(ROOT)) for p in set(pages()) - seen) == []
