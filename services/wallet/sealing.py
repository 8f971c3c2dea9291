"""Sealing the next block of journals, within one transaction."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Final

from sqlalchemy import Connection, Row, func, or_, select

from services.wallet.chain import FIRST_DIGEST, Block, ChainKeys, gaps, ranges
from services.wallet.chain_schema import chain_blocks
from services.wallet.content import content_between
from services.wallet.insert import insert_new
from services.wallet.schema import journals

BLOCK_JOURNALS: Final = 2_000
"""The most journals that one block holds."""
LATE_MS: Final = 60_000
"""How long after its block a journal may still commit; later ones are sealed by nobody (a finding).
"""
_WATCHED_BLOCKS: Final = 200


def newest_block(connection: Connection) -> Block | None:
    """The chain's head; None before the first block."""
    newest = select(chain_blocks).order_by(chain_blocks.c.block_no.desc()).limit(1)
    row = connection.execute(newest).one_or_none()
    return None if row is None else block_of(row)


def block_of(row: Row[tuple[object, ...]]) -> Block:
    """A block as it is stored."""
    return Block(**row._mapping)


def seal_next(
    connection: Connection, keys: ChainKeys, now_ms: int, until_ms: int | None = None
) -> Block | None:
    """Seal the oldest journals that no block holds; None where there are none.

    With ``until_ms`` only up to the newest journal that was booked until then: those under way at
    this moment should not become latecomers. Two who seal at once: the slower one gets None, or
    starts anew on a fresh snapshot.
    """
    last = newest_block(connection)
    found = _latecomer(connection, now_ms) or _next(connection, until_ms)
    if found is None:
        return None
    first, numbers = found
    content = content_between(connection, first, numbers[-1])
    draft = Block(
        block_no=last.block_no + 1 if last else 1,
        first_journal=first,
        last_journal=numbers[-1],
        missing=gaps(first, numbers),
        journal_count=len(numbers),
        content_digest=content.digest,
        digest="",
        sealed_ms=now_ms,
        key_id=keys.key_id,
        signature="",
    )
    digest = draft.digest_after(last.digest if last else FIRST_DIGEST)
    block = replace(draft, digest=digest, signature=keys.sign(draft.block_no, digest))
    return block if insert_new(connection, chain_blocks, asdict(block)) else None


def _next(connection: Connection, until_ms: int | None) -> tuple[int, Sequence[int]] | None:
    sealed = connection.execute(select(func.max(chain_blocks.c.last_journal))).scalar() or 0
    rows = connection.execute(
        select(journals.c.journal_id, journals.c.booked_ms)
        .where(journals.c.journal_id > sealed)
        .order_by(journals.c.journal_id)
        .limit(BLOCK_JOURNALS)
    ).all()
    settled = [row.journal_id for row in rows if until_ms is None or row.booked_ms <= until_ms]
    if not settled:
        return None
    numbers = [row.journal_id for row in rows if row.journal_id <= settled[-1]]
    return sealed + 1, numbers


def _latecomer(connection: Connection, now_ms: int) -> tuple[int, Sequence[int]] | None:
    """A journal in the gaps of recent blocks that has committed since."""
    recent = (
        select(chain_blocks.c.missing)
        .where(chain_blocks.c.missing != "", chain_blocks.c.sealed_ms > now_ms - LATE_MS)
        .order_by(chain_blocks.c.block_no.desc())
        .limit(_WATCHED_BLOCKS)
    )
    for missing in connection.execute(recent).scalars().all():
        unsealed = unsealed_among(connection, missing)
        if unsealed:
            return unsealed[0], unsealed[:1]
    return None


def unsealed_among(connection: Connection, missing: str) -> Sequence[int]:
    """Journals that stand in these gaps and that no block of their own holds."""
    own = (
        select(chain_blocks.c.block_no)
        .where(chain_blocks.c.last_journal == journals.c.journal_id)
        .where(chain_blocks.c.first_journal == journals.c.journal_id)
        .exists()
    )
    within = or_(*(journals.c.journal_id.between(low, high) for low, high in ranges(missing)))
    found = select(journals.c.journal_id).where(within, ~own).order_by(journals.c.journal_id)
    return connection.execute(found).scalars().all()
