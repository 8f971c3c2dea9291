"""``okeyctl audit``: has the wallet check its whole ledger, and shows what it found."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey.money.account import SHARED_ACCOUNTS
from services.okeyctl.reach import Reach

# A ledger of millions of journals is read from its beginning.
_TIMEOUT_S: Final = 3_600.0
_MOST_ANCHORS: Final = 100
"""As many as the wallet takes in one request."""

Tell = Callable[[wallet_pb2.AuditProgress], None]


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit came to, and what the house's accounts hold."""

    findings: Sequence[wallet_pb2.Finding]
    summary: wallet_pb2.AuditSummary
    house: dict[str, int]


async def audit(
    wallet: Reach, anchors: Sequence[wallet_pb2.Anchor], tell: Tell, *, freeze: bool
) -> Audited:
    """Have everything checked, against the newest heads: each follows from all blocks before it.

    Raises ``grpc.aio.AioRpcError`` where the wallet gives no answer."""
    newest = sorted(anchors, key=lambda anchor: anchor.block_no)[-_MOST_ANCHORS:]
    request = wallet_pb2.AuditLedgerRequest(anchors=newest, freeze=freeze)
    findings: list[wallet_pb2.Finding] = []
    summary = wallet_pb2.AuditSummary()
    async with wallet.open() as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        async for message in stub.AuditLedger(request, timeout=_TIMEOUT_S):
            match message.WhichOneof("message"):
                case "progress":
                    tell(message.progress)
                case "finding":
                    findings.append(message.finding)
                case _:
                    summary = message.summary
    return Audited(findings, summary, await house_balances(wallet))


async def export(wallet: Reach) -> wallet_pb2.ExportAnchorsResponse:
    """The chain's head. Raises ``grpc.aio.AioRpcError``."""
    async with wallet.open() as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        return await stub.ExportAnchors(wallet_pb2.ExportAnchorsRequest(), timeout=_TIMEOUT_S)


@contextmanager
def progress_bar() -> Iterator[Tell]:
    """A bar a step of an audit."""
    with progress_of() as tell:
        yield lambda progress: tell(progress.step, progress.done, progress.total)


@contextmanager
def progress_of() -> Iterator[Callable[[str, int, int], None]]:
    """A bar a step on stderr, where that is a terminal; told of step, done and total."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total or None)
            bars.update(tasks[step], completed=done, total=total or None)

        yield tell


async def house_balances(wallet: Reach) -> dict[str, int]:
    """Chips on the accounts that belong to no player and no table."""
    async with wallet.open() as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        found: dict[str, int] = {}
        for account in SHARED_ACCOUNTS:
            request = wallet_pb2.GetAccountRequest(account=account)
            found[account] = (await stub.GetAccount(request, timeout=_TIMEOUT_S)).balance
    return found


def as_json(audited: Audited) -> str:
    """The audit as one JSON object."""
    findings = [
        {
            "kind": finding_name(finding),
            "subject": finding.subject,
            "expected": finding.expected,
            "actual": finding.actual,
            "table_id": finding.table_id,
        }
        for finding in audited.findings
    ]
    summary = audited.summary
    document = {
        "journals": summary.journal_count,
        "postings": summary.posting_count,
        "blocks": summary.block_count,
        "sealed_journals": summary.sealed_count,
        "money_events": summary.event_count,
        "has_key": summary.has_key,
        "is_engine_compared": summary.is_engine_compared,
        "house": audited.house,
        "findings": findings,
        "frozen": list(summary.frozen),
        "quarantined": list(summary.quarantined),
    }
    return json.dumps(document, indent=2)


def show(audited: Audited, console: Console) -> None:
    """The audit as tables for a person."""
    house = Table("account", "chips", title="The house's accounts")
    for account, chips in audited.house.items():
        house.add_row(account, f"{chips:,}")
    console.print(house)
    if audited.findings:
        findings = Table("finding", "subject", "expected", "actual", title="Findings")
        for finding in audited.findings:
            amounts = (f"{finding.expected:,}", f"{finding.actual:,}")
            findings.add_row(finding_name(finding), finding.subject, *amounts)
        console.print(findings)
    for title, names in (
        ("Frozen", audited.summary.frozen),
        ("Quarantined", audited.summary.quarantined),
    ):
        if names:
            console.print(f"{title}: {', '.join(names)}")
    for line in verdict(audited):
        console.print(line)


def verdict(audited: Audited) -> list[str]:
    """The audit in a few lines."""
    summary = audited.summary
    size = f"{summary.journal_count} journals, {summary.posting_count} postings"
    chain = f"{summary.block_count} blocks hold {summary.sealed_count} journals"
    events = f"{summary.event_count} money events of the engine compared"
    lines = [
        f"{chain}." if summary.has_key else "The chain was not checked: this wallet has no key.",
        f"{events}." if summary.is_engine_compared else "The engine's events were not compared.",
    ]
    if audited.findings:
        return [*lines, f"{size}: {len(audited.findings)} findings."]
    sound = "every journal sums to zero, every balance is the sum of its postings."
    return [*lines, f"{size}: {sound}"]


def finding_name(finding: wallet_pb2.Finding) -> str:
    """What is wrong, such as ``BALANCE_DIFFERS``."""
    name: str = wallet_pb2.FindingKind.Name(finding.kind)
    return name.removeprefix("FINDING_KIND_")
