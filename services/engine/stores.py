"""What the engine keeps its tables in."""

from dataclasses import dataclass

from services.engine.journal import Journal
from services.engine.operators import Operators
from services.engine.snapshots import Snapshots


@dataclass(frozen=True, slots=True)
class Stores:
    """What tables are kept in, and how many rows a table may have beyond its snapshot."""

    journal: Journal
    snapshots: Snapshots
    operators: Operators
    snapshot_every_rows: int = 500
