"""What the platform has kept, as far as callers can change it: read from the databases themselves.

Left out is what happens of itself while calls are made: clocks that ring, seats that quick match
finds for tickets, and the wallet's and rating's part of what the engine reports, welcome grants
among it.
"""

import sqlite3
from pathlib import Path
from typing import Final

_OF_A_TICKET: Final = "coalesce(request_id GLOB 'quick-*' OR request_id GLOB 'next-*', 0)"
_OF_ENGINE: Final = (
    f"SELECT count(*) FROM journal WHERE player IS NOT NULL AND NOT {_OF_A_TICKET}",
    f"SELECT count(*) FROM tables WHERE table_id NOT IN "
    f"(SELECT table_id FROM journal WHERE {_OF_A_TICKET})",
    "SELECT name, is_on, at_ms FROM switches",
    "SELECT count(*) FROM quarantined",
    "SELECT count(*) FROM voided",
)
# The engine's keys are `<table>-<seq>-<index>`; journals without a request are welcome grants.
_OF_WALLET: Final = (
    "SELECT count(*) FROM requests WHERE journal_id IS NOT NULL "
    "AND idempotency_key NOT GLOB '??????????????????????????-*-*'",
    "SELECT count(*) FROM journals WHERE kind IN ('grant', 'reversal')",
    "SELECT count(*) FROM accounts WHERE frozen",
)
_OF_RATING: Final = (
    "SELECT count(*) FROM records WHERE match_id NOT GLOB '??????????????????????????-*'",
    "SELECT count(*) FROM seasons",
)


class Ledgers:
    """The three databases of a platform in a folder, read beside their services."""

    def __init__(self, folder: Path) -> None:
        self._asked = [
            (_opened(folder / f"{name}.db"), questions)
            for name, questions in (
                ("engine", _OF_ENGINE),
                ("wallet", _OF_WALLET),
                ("rating", _OF_RATING),
            )
        ]

    def state(self) -> list[object]:
        """Everything that a call may have changed; equal if nothing has."""
        return [
            database.execute(question).fetchall()
            for database, questions in self._asked
            for question in questions
        ]

    def close(self) -> None:
        """Close the databases."""
        for database, _ in self._asked:
            database.close()


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
