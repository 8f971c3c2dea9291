"""Requests that wait for a second operator, and the limits above which there is one."""

import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
NAME = sa.String(100).with_variant(sa.String(100, collation="C"), "postgresql")

SEALS = Path(__file__).parents[1] / "seals"


def upgrade() -> None:
    """Make both tables and seal them."""
    op.create_table(
        "approvals",
        sa.Column("approval_no", NUMBER, sa.Identity(always=True), primary_key=True),
        sa.Column("idempotency_key", sa.String(128), nullable=False, unique=True),
        sa.Column("request_hash", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("account", NAME, nullable=False),
        sa.Column("chips", sa.BigInteger, nullable=False),
        sa.Column("reverses", NUMBER, sa.ForeignKey("journals.journal_id")),
        sa.Column("requester", sa.String(64), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("requested_ms", sa.BigInteger, nullable=False),
        sa.Column("expires_ms", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("decided_by", sa.String(64)),
        sa.Column("decided_ms", sa.BigInteger),
        sa.Column("decision_reason", sa.String(500)),
        sa.Column("journal_id", NUMBER, sa.ForeignKey("journals.journal_id"), unique=True),
        sa.CheckConstraint(
            "state IN ('requested', 'approved', 'rejected', 'expired')",
            name="approvals_have_a_state",
        ),
    )
    op.create_index("approvals_by_state", "approvals", ["state", "approval_no"])
    op.create_table(
        "approval_limits",
        sa.Column("limit_no", NUMBER, sa.Identity(always=True), primary_key=True),
        sa.Column("chips", sa.BigInteger),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
    )
    connection = op.get_bind()
    script = (SEALS / f"approvals_{connection.dialect.name}.sql").read_text(encoding="utf-8")
    for statement in re.split(r"\n\s*\n", script.strip()):
        if not all(line.startswith("--") for line in statement.splitlines()):
            connection.exec_driver_sql(statement)
