"""The canonical text of sealed journals: what the chain's digests are made of.

A line a journal and a line a posting, their columns in a fixed order. Numbers are written as they
are, texts with their length before them, so that no two contents have the same text. PostgreSQL
puts a block's lines together and hashes them itself, so that a block is one short row on its way
here; SQLite, which is in this process, gives the lines.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    String,
    Table,
    Text,
    cast,
    func,
    literal,
    select,
)

from services.wallet.chain import Block, content_digest
from services.wallet.chain_schema import chain_blocks
from services.wallet.schema import journals, postings

# A column that is added later changes no line: it would make every old block look altered.
_JOURNAL: Final = (
    journals.c.journal_id,
    journals.c.kind,
    journals.c.rules_version,
    journals.c.booked_ms,
    journals.c.table_id,
    journals.c.match_id,
    journals.c.actor,
    journals.c.reason,
    journals.c.reverses,
    journals.c.legs,
)
_POSTING: Final = (
    postings.c.journal_id,
    postings.c.account,
    postings.c.amount,
    postings.c.balance_after,
    postings.c.version,
)


@dataclass(frozen=True, slots=True)
class Content:
    """What some journals hold: how many journals and postings, and the digest of their text."""

    journal_count: int
    posting_count: int
    digest: str


def content_between(connection: Connection, first: int, last: int) -> Content:
    """The content of the journals first to last, ends included."""
    within = literal(0).label("block_no")
    hashed = {
        table: _hashed(connection, table, within, table.c.journal_id.between(first, last))
        for table in (journals, postings)
    }
    return _content(hashed[journals].get(0), hashed[postings].get(0))


def contents_of(
    connection: Connection, blocks: Sequence[Block], without: Collection[int]
) -> Mapping[int, Content]:
    """By block number, what the journals of each block's range hold but for the named ones.

    The blocks' ranges do not overlap.
    """
    numbers = [block.block_no for block in blocks]
    hashed = {}
    for table in (journals, postings):
        in_block = table.c.journal_id.between(
            chain_blocks.c.first_journal, chain_blocks.c.last_journal
        )
        wanted = in_block & chain_blocks.c.block_no.between(min(numbers), max(numbers))
        wanted &= chain_blocks.c.block_no.in_(numbers)
        if without:
            wanted &= table.c.journal_id.not_in(sorted(without))
        hashed[table] = _hashed(connection, table, chain_blocks.c.block_no, wanted)
    return {
        number: _content(hashed[journals].get(number), hashed[postings].get(number))
        for number in numbers
    }


_Hashed = tuple[int, str]
_NOTHING: Final[_Hashed] = (0, hashlib.sha256().hexdigest())


def _content(of_journals: _Hashed | None, of_postings: _Hashed | None) -> Content:
    journal_count, journal_digest = of_journals or _NOTHING
    posting_count, posting_digest = of_postings or _NOTHING
    return Content(journal_count, posting_count, content_digest(journal_digest, posting_digest))


def _hashed(
    connection: Connection,
    table: Table,
    block_no: ColumnElement[int],
    wanted: ColumnElement[bool],
) -> dict[int, _Hashed]:
    """By block, how many rows it has, and the SHA-256 of their lines as hex."""
    columns = _JOURNAL if table is journals else _POSTING
    order = (columns[0],) if table is journals else columns[:2]
    line = _line(columns)
    if connection.dialect.name == "postgresql":
        together = func.aggregate_strings(line, "\n").aggregate_order_by(*order)
        digest = func.encode(func.sha256(func.convert_to(together, "UTF8")), "hex")
        grouped = select(block_no, func.count(), digest).where(wanted).group_by(block_no)
        return {number: (count, hashed) for number, count, hashed in connection.execute(grouped)}
    each = select(block_no, line).where(wanted).order_by(block_no, *order)
    rows = connection.execute(each).all()
    return {
        number: (len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest())
        for number, lines in (
            (number, [text for _, text in group])
            for number, group in groupby(rows, key=lambda row: row[0])
        )
    }


def _line(columns: Iterable[Column[object]]) -> ColumnElement[str]:
    first, *others = (_field(column) for column in columns)
    line = first
    for each in others:
        line = line.concat("|").concat(each)
    return line


def _field(column: Column[object]) -> ColumnElement[str]:
    written: ColumnElement[str] = cast(column, Text)
    if isinstance(column.type, String):
        written = cast(func.length(column), Text).concat(":").concat(written)
    return func.coalesce(written, "") if column.nullable else written
