"""What Prometheus reads of the wallet; labels are few and closed, never ids."""

from typing import Final

from prometheus_client import Counter, Gauge

from services.wallet.finding import FindingKind

CHAIN_HEAD: Final = Gauge("okey_wallet_chain_block", "The newest block that this process signed.")
SEALED: Final = Counter("okey_wallet_sealed_journals_total", "Journals sealed by this process.")
CHAIN_KEY: Final = Gauge(
    "okey_wallet_chain_key", "Whether this wallet has a key to seal journals with (0 or 1)."
)
AUDIT_LAST_RUN: Final = Gauge(
    "okey_wallet_audit_last_run_timestamp_seconds", "When the last audit ended, since the epoch."
)
AUDIT_FINDINGS: Final = Gauge(
    "okey_wallet_audit_findings", "Findings of the last audit, by kind.", ("kind",)
)
for _kind in FindingKind:
    # There from the start, so that an alert sees the first finding.
    AUDIT_FINDINGS.labels(_kind)
AUDIT_SECONDS: Final = Gauge("okey_wallet_audit_seconds", "How long the last audit took.")
AUDIT_FAILURES: Final = Counter(
    "okey_wallet_audit_failures_total", "Audits that could not be carried out."
)
HOUSE_CHIPS: Final = Gauge(
    "okey_wallet_house_chips",
    "Chips of the house's accounts that may go below zero, as this process read them last.",
    ("account",),
)
BOT_BANK_FLOOR: Final = Gauge(
    "okey_wallet_bot_bank_floor_chips",
    "With fewer chips in house:bot_bank no new solo table is made (M7).",
)
