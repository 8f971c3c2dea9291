"""What the newest audit of this process came to, and whether the ledger is sealed."""

from typing import Final

from okey_runtime.clock import Clock
from okey_runtime.metrics import values_of
from okey_runtime.status import OK, WARNING, WRONG, Found, Look
from services.wallet.metrics import AUDIT_FINDINGS, AUDIT_LAST_RUN, CHAIN_KEY

_OVERDUE: Final = 3
"""After so many times the usual pause something keeps the audits from being done."""


def ledger_check(clock: Clock, audit_every_ms: int) -> Look:
    """Whether the newest audit found nothing and was not long ago, and whether there is a key."""

    async def look() -> Found:
        findings = {kind: count for (kind,), count in values_of(AUDIT_FINDINGS).items() if count}
        if findings:
            told = ", ".join(f"{kind} {count:.0f}" for kind, count in sorted(findings.items()))
            advice = "see docs/runbooks/audit-finding.md; okeyctl audit names the accounts"
            return Found(WRONG, f"the newest audit has findings: {told}", advice)
        last_ms = round(1000 * values_of(AUDIT_LAST_RUN)[()])
        if not last_ms:
            return _sealed("no audit of its own yet")
        ago_ms = clock.now_ms() - last_ms
        told = f"its newest audit, {ago_ms // 1000} s ago, found nothing"
        if ago_ms > _OVERDUE * audit_every_ms:
            return Found(WARNING, told, "look for audit_failed in the wallet's log")
        return _sealed(told)

    return look


def _sealed(told: str) -> Found:
    if values_of(CHAIN_KEY)[()]:
        return Found(OK, told)
    advice = "set OKEY_CHAIN_KEY_FILE, or the secret okey_chain_key"
    return Found(WARNING, f"{told}; journals are not sealed, for it has no key", advice)
