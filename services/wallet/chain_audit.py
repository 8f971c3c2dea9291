"""The chain against the journals, and exported heads against the chain."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, func, select

from services.wallet.chain import FIRST_DIGEST, Block, ChainKeys, Head
from services.wallet.chain_schema import chain_blocks
from services.wallet.content import Content, contents_of
from services.wallet.finding import Finding, FindingKind, Tell
from services.wallet.sealing import LATE_MS, block_of, unsealed_among

STEP: Final = "chain"
_BATCH_JOURNALS: Final = 20_000
_BATCH_BLOCKS: Final = 500


@dataclass(slots=True)
class ChainAudit:
    """What a check of the chain came to."""

    findings: list[Finding] = field(default_factory=list)
    block_count: int = 0
    sealed_count: int = 0

    def add(self, kind: FindingKind, subject: str, expected: int = 0, actual: int = 0) -> None:
        """Note a finding."""
        self.findings.append(Finding(kind, subject, expected, actual))


def audit_chain(
    connection: Connection, keys: ChainKeys, anchors: Sequence[Head], now_ms: int, tell: Tell
) -> ChainAudit:
    """Check every block, link and signature, and every anchor, on the connection's snapshot."""
    audit = ChainAudit()
    total = connection.execute(select(func.sum(chain_blocks.c.journal_count))).scalar() or 0
    tell(STEP, 0, int(total))
    late = _late_blocks(connection)
    digests: dict[int, str] = {}
    wanted = {anchor.block_no for anchor in anchors}
    previous = FIRST_DIGEST
    for batch in _batches(connection):
        alone = [block for block in batch if block.block_no in late]
        together = [block for block in batch if block.block_no not in late]
        added = [number for block in together for number in _added(connection, block, now_ms)]
        for number in added:
            audit.add(FindingKind.JOURNAL_ADDED, f"journal:{number}")
        contents = _contents(connection, together, alone, late)
        for block in batch:
            _check_block(audit, block, previous, contents[block.block_no], keys)
            previous = block.digest
            if block.block_no in wanted:
                digests[block.block_no] = block.digest
        tell(STEP, audit.sealed_count, int(total))
    _check_anchors(audit, anchors, digests, keys)
    return audit


def _check_block(
    audit: ChainAudit, block: Block, previous: str, content: Content, keys: ChainKeys
) -> None:
    subject = f"block:{block.block_no}"
    audit.block_count += 1
    if block.block_no != audit.block_count:
        audit.add(FindingKind.BLOCK_MISSING, subject, audit.block_count, block.block_no)
        audit.block_count = block.block_no
    elif block.digest != block.digest_after(previous):
        audit.add(FindingKind.BLOCK_ALTERED, subject)
    if not keys.has_signed(block.head):
        audit.add(FindingKind.SIGNATURE_INVALID, subject)
    audit.sealed_count += block.journal_count
    count = content.journal_count
    if count < block.journal_count:
        audit.add(FindingKind.JOURNAL_REMOVED, subject, block.journal_count, count)
    elif count > block.journal_count:
        audit.add(FindingKind.JOURNAL_ADDED, subject, block.journal_count, count)
    elif content.digest != block.content_digest:
        audit.add(FindingKind.JOURNAL_ALTERED, subject, count, count)


def _check_anchors(
    audit: ChainAudit, anchors: Sequence[Head], digests: dict[int, str], keys: ChainKeys
) -> None:
    for anchor in anchors:
        subject = f"anchor:{anchor.block_no}"
        if not keys.has_signed(anchor):
            audit.add(FindingKind.ANCHOR_FORGED, subject)
        elif anchor.block_no not in digests:
            newest = audit.block_count
            audit.add(FindingKind.ANCHOR_MISSING, subject, anchor.block_no, newest)
        elif digests[anchor.block_no] != anchor.digest:
            audit.add(FindingKind.ANCHOR_DIFFERS, subject)


def _batches(connection: Connection) -> Iterator[list[Block]]:
    after = 0
    while True:
        rows = connection.execute(
            select(chain_blocks)
            .where(chain_blocks.c.block_no > after)
            .order_by(chain_blocks.c.block_no)
            .limit(_BATCH_BLOCKS)
        ).all()
        if not rows:
            return
        batch: list[Block] = []
        journal_count = 0
        for row in rows:
            block = block_of(row)
            if batch and journal_count + block.journal_count > _BATCH_JOURNALS:
                break
            batch.append(block)
            journal_count += block.journal_count
        yield batch
        after = batch[-1].block_no


def _late_blocks(connection: Connection) -> dict[int, int]:
    """By block number, the journal of each block that holds a latecomer alone."""
    before = func.max(chain_blocks.c.last_journal).over(
        order_by=chain_blocks.c.block_no, rows=(None, -1)
    )
    reached = select(
        chain_blocks.c.block_no, chain_blocks.c.last_journal, before.label("before")
    ).subquery()
    rows = connection.execute(
        select(reached.c.block_no, reached.c.last_journal).where(
            reached.c.last_journal < reached.c.before
        )
    )
    return {row.block_no: row.last_journal for row in rows}


def _added(connection: Connection, block: Block, now_ms: int) -> Sequence[int]:
    """Journals in the block's gaps that came too late to be latecomers."""
    if not block.missing or now_ms - block.sealed_ms < LATE_MS:
        return ()
    return unsealed_among(connection, block.missing)


def _contents(
    connection: Connection, together: list[Block], alone: list[Block], late: dict[int, int]
) -> dict[int, Content]:
    found: dict[int, Content] = {}
    if together:
        without = set(late.values())
        for block in together:
            if block.missing:
                without.update(unsealed_among(connection, block.missing))
        low, high = together[0].first_journal, together[-1].last_journal
        found |= contents_of(connection, together, [n for n in without if low <= n <= high])
    for block in alone:
        found |= contents_of(connection, [block], ())
    return found
