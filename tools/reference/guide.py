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
_RPC_ROW: Final = re.compile(
    r"^\| `(?P<name>\w+Service\.\w+)` \| (?P<roles>[a-z]+(?:, [a-z]+)*) \| (?P<purpose>\S.*) \|$"
)
_RPC_CELL: Final = re.compile(r"^\| `\w+Service\.\w+` \|")


class GuideBroken(Exception):
    """A table of the guide says something twice, or a row of it lacks something."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: its gRPC status, and in Markdown what it means and what the caller does."""

    name: str
    status: str
    advice: str


@dataclass(frozen=True, slots=True)
class Rpc:
    """One RPC: its roles, and in Markdown what a caller wants of it."""

    name: str
    roles: tuple[str, ...]
    purpose: str


def reasons(page: str) -> dict[str, Reason]:
    """Every reason of the page by name. Raises ``GuideBroken`` where one has two rows."""
    found: dict[str, Reason] = {}
    for name, status, advice in _REASON_ROW.findall(page):
        if name in found:
            raise GuideBroken(f"{name} has two rows")
        found[name] = Reason(name, status, advice)
    return found


def rpcs(page: str) -> dict[str, Rpc]:
    """Every RPC of the page by ``Service.Method``.

    Raises ``GuideBroken`` where one has two rows, or a row lacks roles or purpose.
    """
    found: dict[str, Rpc] = {}
    for line in filter(_RPC_CELL.match, page.splitlines()):
        row = _RPC_ROW.match(line)
        if row is None or row["name"] in found:
            raise GuideBroken(f"roles or purpose are missing, or it is the second row: {line}")
        found[row["name"]] = Rpc(row["name"], tuple(row["roles"].split(", ")), row["purpose"])
    return found


def roles(page: str) -> dict[str, tuple[str, ...]]:
    """``Service.Method`` -> the roles that may call it. Raises ``GuideBroken``."""
    return {name: rpc.roles for name, rpc in rpcs(page).items()}
