"""``okeyctl statement``: what went in and out of an account, for people and for other programs."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_runtime.identity import display_name
from services.okeyctl.as_csv import csv_text
from services.okeyctl.reach import Reach

_TIMEOUT_S: Final = 300.0
_WIDE: Final = 10_000
"""Columns where no terminal limits them: nothing is wrapped for a file or a pipe."""
_COLUMNS: Final = (
    "booked_at",
    "journal",
    "kind",
    "amount",
    "balance",
    "table",
    "match",
    "reason",
)


@dataclass(frozen=True, slots=True)
class Statement:
    """An account's postings between two moments, and its balance before and after them."""

    account: str
    opening: int
    postings: tuple[wallet_pb2.Posting, ...]
    closing: int


async def fetch(wallet: Reach, account: str, from_ms: int, until_ms: int) -> Statement:
    """The wallet's statement; ``until_ms`` 0 is now. Raises ``grpc.aio.AioRpcError``."""
    request = wallet_pb2.ExportStatementRequest(account=account, from_ms=from_ms, until_ms=until_ms)
    opening = closing = 0
    postings = []
    async with wallet.open() as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        async for line in stub.ExportStatement(request, timeout=_TIMEOUT_S):
            match line.WhichOneof("line"):
                case "opening":
                    opening = line.opening.balance
                case "posting":
                    postings.append(line.posting)
                case _:
                    closing = line.closing.balance
    return Statement(account, opening, tuple(postings), closing)


def as_json(statement: Statement) -> str:
    """One JSON object."""
    document = {
        "account": statement.account,
        "opening_balance": statement.opening,
        "postings": [dict(zip(_COLUMNS, _row(each), strict=True)) for each in statement.postings],
        "closing_balance": statement.closing,
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_csv(statement: Statement) -> str:
    """One line a posting, between a line OPENING and a line CLOSING."""
    return csv_text(
        (
            _COLUMNS,
            ("", "", "OPENING", "", statement.opening, "", "", ""),
            *map(_row, statement.postings),
            ("", "", "CLOSING", "", statement.closing, "", "", ""),
        )
    )


def show(statement: Statement, console: Console) -> None:
    """A table for a person; its texts are in one line and without what steers a terminal."""
    numbers = ("journal", "amount", "balance")
    columns = [Column(name, overflow="fold", no_wrap=name in numbers) for name in _COLUMNS]
    table = Table(*columns, title=Text(statement.account))
    table.add_row("", "", "OPENING", "", f"{statement.opening:,}")
    for posting in statement.postings:
        when, journal, kind, amount, balance, *rest = _row(posting)
        texts = [Text(display_name(text)) for text in rest]
        table.add_row(when, str(journal), kind, f"{amount:+,}", f"{balance:,}", *texts)
    table.add_row("", "", "CLOSING", "", f"{statement.closing:,}")
    if not console.is_terminal:
        console.width = _WIDE
    console.print(table)


def _row(posting: wallet_pb2.Posting) -> tuple[str, int, str, int, int, str, str, str]:
    kind: str = wallet_pb2.JournalKind.Name(posting.kind)
    return (
        datetime.fromtimestamp(posting.booked_at_ms / 1000, UTC).isoformat(timespec="milliseconds"),
        posting.journal_id,
        kind.removeprefix("JOURNAL_KIND_"),
        posting.amount,
        posting.balance_after,
        posting.table_id,
        posting.match_id,
        posting.reason,
    )
