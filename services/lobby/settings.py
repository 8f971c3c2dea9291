"""Settings of the lobby beside those of every service."""

from pydantic import Field

from okey_runtime.config import ServiceSettings


class LobbySettings(ServiceSettings):
    """Where the lobby finds the services it asks; ``OKEY_REDIS_URL`` and a service token too."""

    engine_address: str
    """host:port or dns:///name:port of the engine."""
    wallet_address: str
    """host:port or dns:///name:port of the wallet; asked before a solo table is made (M7)."""

    tables_at_once: int = Field(default=10, ge=1)
    """How many tables a player may make in a row."""
    table_every_ms: int = Field(default=10_000, ge=1)
    """After how long a player who has made them may make one more."""
    seats_at_once: int = Field(default=20, ge=1)
    """How many tables a player may join in a row."""
    seat_every_ms: int = Field(default=3_000, ge=1)
    """After how long a player who has joined them may join one more."""
    most_list_watchers: int = Field(default=2_000, ge=1)
    """How many streams of a replica may follow lists of tables at once."""
