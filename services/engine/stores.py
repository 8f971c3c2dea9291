"""What the engine keeps its tables in."""

from dataclasses import dataclass

from services.engine.gathering import MOST_KEYS
from services.engine.journal import Journal
from services.engine.operators import Operators
from services.engine.snapshots import Snapshots


@dataclass(frozen=True, slots=True)
class Stores:
    """What tables are kept in, how many rows a table may have beyond its snapshot, and how many
    tables are read together.
    """

    journal: Journal
    snapshots: Snapshots
    operators: Operators
    snapshot_every_rows: int = 500
    read_at_once: int = MOST_KEYS
