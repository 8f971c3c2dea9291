"""What the newest audit of this process came to, and whether the ledger is sealed."""

from typing import Final

from okey_runtime.clock import Clock
from okey_runtime.status import OK, WARNING, WRONG, Found, Look
from services.wallet.auditing import Auditor

_OVERDUE: Final = 3
"""After so many times the usual pause something keeps the audits from being done."""


def ledger_check(auditor: Auditor, clock: Clock, audit_every_ms: int) -> Look:
    """Whether the newest audit found nothing and was not long ago, and whether there is a key."""

    def sealed(told: str) -> Found:
        if auditor.has_key:
            return Found(OK, told)
        advice = "set OKEY_CHAIN_KEY_FILE, or the secret okey_chain_key"
        return Found(WARNING, f"{told}; journals are not sealed, for it has no key", advice)

    async def look() -> Found:
        newest = auditor.newest
        if newest is None:
            return sealed("no audit of its own yet")
        if newest.counts:
            told = ", ".join(f"{kind} {count}" for kind, count in sorted(newest.counts.items()))
            advice = "see docs/runbooks/audit-finding.md; okeyctl audit names the accounts"
            return Found(WRONG, f"the newest audit has findings: {told}", advice)
        ago_ms = clock.now_ms() - newest.at_ms
        told = f"its newest audit, {ago_ms // 1000} s ago, found nothing"
        if ago_ms > _OVERDUE * audit_every_ms:
            return Found(WARNING, told, "look for audit_failed in the wallet's log")
        return sealed(told)

    return look
