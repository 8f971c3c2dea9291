"""How many processes a platform has, and on which kind of database: one of each service on SQLite
files, or several of most on one PostgreSQL.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

GATEWAY: Final = "gateway"
VALKEY: Final = "valkey"
POSTGRES: Final = "postgres"
STORES: Final = (VALKEY, POSTGRES)
"""What services connect to when they start, so what starts before them."""


@dataclass(frozen=True, slots=True)
class Part:
    """One process: ``name`` is its own, such as ``engine-2``, ``kind`` what it is one of."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Shape:
    """``replicas`` tells how many processes each service has, in the order in which they stop: who
    takes work first, who is needed by others last.
    """

    replicas: Mapping[str, int]
    first_port: int
    has_postgres: bool = False

    @property
    def parts(self) -> tuple[Part, ...]:
        """Every process, stores last; those of which there is one only have no number."""
        services = [
            Part(f"{kind}-{number}" if count > 1 else kind, kind)
            for kind, count in self.replicas.items()
            for number in range(1, count + 1)
        ]
        stores = STORES if self.has_postgres else (VALKEY,)
        return (*services, *(Part(kind, kind) for kind in stores))

    @property
    def names(self) -> tuple[str, ...]:
        """The processes' names."""
        return tuple(part.name for part in self.parts)


# Their ports are documented in docs/quickstart.md and docs/cluster.md.
SINGLE: Final = Shape(
    {"gateway": 1, "lobby": 1, "engine": 1, "wallet": 1, "rating": 1, "bots": 1}, 7400
)
CLUSTER: Final = Shape(
    {"gateway": 1, "lobby": 2, "engine": 3, "wallet": 2, "rating": 2, "bots": 3},
    7500,
    has_postgres=True,
)
