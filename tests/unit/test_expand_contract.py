"""A release can be rolled back while its schema stays: migrations only add, unless one says why the
version before goes on.
"""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

SCRIPTS: Final = sorted((Path(__file__).parents[2] / "services").glob("*/migrations/versions/*.py"))
TAKES_AWAY: Final = re.compile(
    r"\bop\.(drop_|rename_|alter_column|batch_alter)|\b(DROP (TABLE|COLUMN)|RENAME|SET NOT NULL)\b"
)
REASON: Final = "BEFORE_GOES_ON"
"""The constant in which such a script says it."""


def takes_away(script: str) -> bool:
    """Whether the script removes, renames or narrows what the version before uses."""
    return TAKES_AWAY.search(script) is not None


def reason(script: str) -> str:
    """What the script says about the version before; empty if nothing."""
    for node in ast.parse(script).body:
        if isinstance(node, ast.Assign) and [ast.unparse(one) for one in node.targets] == [REASON]:
            return str(ast.literal_eval(node.value))
    return ""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parts[-4]}-{path.stem}")
def test_a_migration_that_takes_away_says_why_the_version_before_goes_on(script: Path) -> None:
    text = script.read_text("utf-8")

    assert not takes_away(text) or len(reason(text)) > 40


def test_what_takes_away_is_seen() -> None:
    assert [takes_away(script) for script in ("op.drop_column('a', 'b')", "op.add_column()")] == [
        True,
        False,
    ]
    assert takes_away('op.execute("ALTER TABLE a ALTER COLUMN b SET NOT NULL")')
    assert not takes_away("def _drop_nothing() -> None: ...")
    assert reason('BEFORE_GOES_ON = "because"') == "because"
    assert reason("BEFORE = 'because'") == ""
