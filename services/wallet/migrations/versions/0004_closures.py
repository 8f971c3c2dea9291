"""Accounts that are closed for good, and who closed them."""

import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

NAME = sa.String(100).with_variant(sa.String(100, collation="C"), "postgresql")

SEALS = Path(__file__).parents[1] / "seals"


def upgrade() -> None:
    """Mark accounts, note closures, and seal both."""
    closed = sa.Column("is_closed", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("accounts", closed)
    op.create_table(
        "account_closures",
        sa.Column("account", NAME, primary_key=True),
        sa.Column("closed_ms", sa.BigInteger, nullable=False),
        sa.Column("unclaimed", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
    )
    connection = op.get_bind()
    script = (SEALS / f"closures_{connection.dialect.name}.sql").read_text(encoding="utf-8")
    for statement in re.split(r"\n\s*\n", script.strip()):
        if not all(line.startswith("--") for line in statement.splitlines()):
            connection.exec_driver_sql(statement)
