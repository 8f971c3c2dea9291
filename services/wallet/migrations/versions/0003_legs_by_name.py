"""PostgreSQL: functions of the triggers as the seals have them now; legs are looked up by name."""

import re
from pathlib import Path

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

SEALS = Path(__file__).parents[1] / "seals"


def upgrade() -> None:
    """Replace the functions of a ledger that was sealed before; the triggers stay."""
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    script = (SEALS / "postgresql.sql").read_text(encoding="utf-8")
    for statement in re.split(r"\n\s*\n", script.strip()):
        if "CREATE OR REPLACE FUNCTION" in statement:
            connection.exec_driver_sql(statement)
