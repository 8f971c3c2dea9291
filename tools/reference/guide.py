"""What docs/api.md says in its tables: who may call which RPC, and what each reason means.

The page is the one place where both are written; tests hold it against the code.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "api.md"

REASON: Final = r"[A-Z]+(?:_[A-Z]+)*"
_REASON_ROW: Final = re.compile(rf"^\| `({REASON})` \| ([A-Z_]+) \| (.+) \|$", re.MULTILINE)
_ROLES_HEAD: Final = re.compile(r"^\| RPC ((?:\| [a-z]+ )+)\|$", re.MULTILINE)
_ROLES_ROW: Final = re.compile(r"^\| `(\w+Service)\.(\w+)` \|((?:[ ●]+\|)+)$", re.MULTILINE)


class GuideBroken(Exception):
    """A table of the guide says something twice or has a row of another width."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: its gRPC status, and in Markdown what it means and what the caller does."""

    name: str
    status: str
    advice: str


def reasons(page: str) -> dict[str, Reason]:
    """Every reason of the page by name. Raises ``GuideBroken`` where one has two rows."""
    found: dict[str, Reason] = {}
    for name, status, advice in _REASON_ROW.findall(page):
        if name in found:
            raise GuideBroken(f"{name} has two rows")
        found[name] = Reason(name, status, advice)
    return found


def roles(page: str) -> dict[str, tuple[str, ...]]:
    """``Service.Method`` -> the roles that may call it, in the order of the columns.

    Raises ``GuideBroken`` where an RPC has two rows, or a row another number of cells.
    """
    [head] = _ROLES_HEAD.findall(page)
    columns = re.findall(r"[a-z]+", head)
    found: dict[str, tuple[str, ...]] = {}
    for service, method, cells in _ROLES_ROW.findall(page):
        name = f"{service}.{method}"
        marks = [cell.strip() for cell in cells.split("|")[:-1]]
        if name in found or len(marks) != len(columns):
            raise GuideBroken(f"{name} has two rows, or {len(marks)} cells")
        found[name] = tuple(role for role, mark in zip(columns, marks, strict=True) if mark == "●")
    return found
