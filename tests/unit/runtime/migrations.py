"""Migration folders made on the spot."""

from pathlib import Path

ENV = "from okey_runtime.migrations import run_migrations\n\nrun_migrations()\n"

STEP = """
from alembic import op

revision = "{number}"
down_revision = {before}


def upgrade() -> None:
{statements}
"""

ACCOUNTS = "CREATE TABLE account (id TEXT PRIMARY KEY, chips BIGINT NOT NULL CHECK (chips >= 0))"


def migrations(folder: Path, *steps: tuple[str, ...]) -> Path:
    """A ``migrations`` folder of one version a step, each with its statements."""
    home = folder / "migrations"
    (home / "versions").mkdir(parents=True, exist_ok=True)
    (home / "env.py").write_text(ENV)
    for number, statements in enumerate(steps, start=1):
        body = "\n".join(f"    op.execute({statement!r})" for statement in statements)
        before = repr(str(number - 1)) if number > 1 else None
        text = STEP.format(number=number, before=before, statements=body)
        (home / "versions" / f"{number}.py").write_text(text)
    return home
