"""Journals, postings, accounts; requests; tables, holds, matches and their seats."""

import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

JOURNAL_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
NAME = sa.String(100).with_variant(sa.String(100, collation="C"), "postgresql")
ID = sa.String(64)

SHARED = (
    "'house:rake', 'house:penalty', 'house:unclaimed', 'house:bonus', 'house:bot_bank', "
    "'system:issuance'"
)
SEALS = Path(__file__).parents[1] / "seals"


def upgrade() -> None:
    """Make all tables and seal the ledger."""
    _create_ledger()
    _create_requests()
    _create_states()
    _seal(op.get_bind())


def _create_ledger() -> None:
    op.create_table(
        "journals",
        sa.Column("journal_id", JOURNAL_ID, sa.Identity(always=True), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("rules_version", sa.String(32), nullable=False),
        sa.Column("booked_ms", sa.BigInteger, nullable=False),
        sa.Column("table_id", ID),
        sa.Column("match_id", ID),
        sa.Column("actor", ID),
        sa.Column("reason", sa.String(500)),
        sa.Column("reverses", JOURNAL_ID, sa.ForeignKey("journals.journal_id"), unique=True),
        sa.Column("legs", sa.Text, nullable=False),
    )
    op.create_table(
        "postings",
        sa.Column("journal_id", JOURNAL_ID, sa.ForeignKey("journals.journal_id"), primary_key=True),
        sa.Column("account", NAME, primary_key=True),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("balance_after", sa.BigInteger),
        sa.Column("version", sa.BigInteger),
        sa.CheckConstraint("amount <> 0", name="postings_move_chips"),
        sa.CheckConstraint("balance_after >= 0", name="postings_never_overdraw"),
        sa.CheckConstraint(
            f"(account IN ({SHARED})) = (version IS NULL) "
            "AND (version IS NULL) = (balance_after IS NULL)",
            name="postings_keep_balances",
        ),
        sa.UniqueConstraint("account", "version", name="postings_are_numbered"),
    )
    op.create_index("postings_by_account", "postings", ["account", "journal_id"])
    op.create_table(
        "accounts",
        sa.Column("account", NAME, primary_key=True),
        sa.Column("balance", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("frozen", sa.Boolean, nullable=False),
        sa.CheckConstraint("balance >= 0", name="accounts_never_go_below_zero"),
        sa.CheckConstraint(
            "account LIKE 'player:_%' OR account LIKE 'escrow:_%' OR account LIKE 'pot:_%' "
            "OR account LIKE 'kasa:_%'",
            name="accounts_are_of_a_kind",
        ),
    )


def _create_requests() -> None:
    op.create_table(
        "requests",
        sa.Column("idempotency_key", sa.String(128), primary_key=True),
        sa.Column("request_hash", sa.String(64), nullable=False),
        sa.Column("answered_ms", sa.BigInteger, nullable=False),
        sa.Column("journal_id", JOURNAL_ID, sa.ForeignKey("journals.journal_id")),
        sa.Column("pot", sa.BigInteger, nullable=False),
        sa.Column("kasa", sa.BigInteger, nullable=False),
        sa.Column("penalty", sa.BigInteger, nullable=False),
        sa.Column("shortfall", sa.BigInteger, nullable=False),
        sa.Column("decline_reason", sa.String(40)),
        sa.Column("decline_message", sa.Text),
        sa.Column("decline_hold_ids", sa.Text),
    )


def _create_states() -> None:
    op.create_table(
        "tables",
        sa.Column("table_id", ID, primary_key=True),
        sa.Column("is_closed", sa.Boolean, nullable=False),
    )
    op.create_table(
        "holds",
        sa.Column("hold_id", sa.String(80), primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("table_id", ID),
        sa.Column("match_id", ID),
        sa.Column("player_id", ID),
        sa.Column("stake", sa.BigInteger),
        sa.Column("rules_version", sa.String(32)),
        sa.CheckConstraint("state IN ('held', 'committed', 'voided')", name="holds_have_a_state"),
        sa.CheckConstraint("state = 'voided' OR stake > 0", name="holds_hold_chips"),
    )
    op.create_index("holds_by_match", "holds", ["match_id"])
    op.create_index("holds_by_table", "holds", ["table_id", "state"])
    op.create_table(
        "matches",
        sa.Column("match_id", ID, primary_key=True),
        sa.Column("table_id", ID, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("variant", sa.SmallInteger),
        sa.Column("mode", sa.SmallInteger),
        sa.Column("stake", sa.BigInteger),
        sa.Column("kasa_share", sa.BigInteger),
        sa.Column("rules_version", sa.String(32)),
        sa.CheckConstraint(
            "state IN ('open', 'started', 'settled', 'voided')", name="matches_have_a_state"
        ),
    )
    op.create_index("matches_by_table", "matches", ["table_id", "state"])
    op.create_table(
        "match_seats",
        sa.Column("match_id", ID, sa.ForeignKey("matches.match_id"), primary_key=True),
        sa.Column("seat", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("payer", ID),
        sa.Column("is_given_up", sa.Boolean, nullable=False),
        sa.Column("penalty", sa.BigInteger, nullable=False),
        sa.Column("shortfall", sa.BigInteger, nullable=False),
        sa.CheckConstraint("payer IS NOT NULL OR NOT is_given_up", name="people_give_seats_up"),
    )


def _seal(connection: sa.Connection) -> None:
    """Run the statements that make the database refuse what must not be."""
    script = (SEALS / f"{connection.dialect.name}.sql").read_text(encoding="utf-8")
    for statement in re.split(r"\n\s*\n", script.strip()):
        if not all(line.startswith("--") for line in statement.splitlines()):
            connection.exec_driver_sql(statement)
