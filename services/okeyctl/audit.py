"""``okeyctl audit``: has the wallet check its whole ledger, and shows what it found."""

import json
from typing import Final

from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey.money.account import SHARED_ACCOUNTS
from okey_runtime.channel import open_channel
from rich.console import Console
from rich.table import Table

from services.okeyctl.reach import Reach

# A ledger of millions of journals is read from its beginning.
_TIMEOUT_S: Final = 300.0


async def verify(wallet: Reach) -> wallet_pb2.VerifyLedgerResponse:
    """The wallet's answer. Raises ``grpc.aio.AioRpcError`` where it gives none."""
    async with open_channel(wallet.address, token=wallet.token) as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        return await stub.VerifyLedger(wallet_pb2.VerifyLedgerRequest(), timeout=_TIMEOUT_S)


async def house_balances(wallet: Reach) -> dict[str, int]:
    """Chips on the accounts that belong to no player and no table."""
    async with open_channel(wallet.address, token=wallet.token) as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        found: dict[str, int] = {}
        for account in SHARED_ACCOUNTS:
            request = wallet_pb2.GetAccountRequest(account=account)
            found[account] = (await stub.GetAccount(request, timeout=_TIMEOUT_S)).balance
    return found


def as_json(answer: wallet_pb2.VerifyLedgerResponse, balances: dict[str, int]) -> str:
    """The audit as one JSON object."""
    findings = [
        {
            "kind": finding_name(finding),
            "subject": finding.subject,
            "expected": finding.expected,
            "actual": finding.actual,
        }
        for finding in answer.findings
    ]
    document = {
        "journals": answer.journal_count,
        "postings": answer.posting_count,
        "house": balances,
        "findings": findings,
    }
    return json.dumps(document, indent=2)


def show(
    answer: wallet_pb2.VerifyLedgerResponse, balances: dict[str, int], console: Console
) -> None:
    """The audit as tables for a person."""
    house = Table("account", "chips", title="The house's accounts")
    for account, chips in balances.items():
        house.add_row(account, f"{chips:,}")
    console.print(house)
    if answer.findings:
        findings = Table("finding", "subject", "expected", "actual", title="Findings")
        for finding in answer.findings:
            amounts = (f"{finding.expected:,}", f"{finding.actual:,}")
            findings.add_row(finding_name(finding), finding.subject, *amounts)
        console.print(findings)
    console.print(verdict(answer))


def verdict(answer: wallet_pb2.VerifyLedgerResponse) -> str:
    """The audit in one line."""
    size = f"{answer.journal_count} journals, {answer.posting_count} postings"
    if not answer.findings:
        return f"{size}: every journal sums to zero, every balance is the sum of its postings."
    return f"{size}: {len(answer.findings)} findings."


def finding_name(finding: wallet_pb2.Finding) -> str:
    """What is wrong, such as ``BALANCE_DIFFERS``."""
    name: str = wallet_pb2.FindingKind.Name(finding.kind)
    return name.removeprefix("FINDING_KIND_")
