"""Settings of the lobby beside those of every service."""

from typing import ClassVar

from pydantic import Field, PositiveInt, SecretStr

from okey_runtime.config import ServiceSettings
from services.lobby.windows import RatingWindow


class LobbySettings(ServiceSettings):
    """Where the lobby finds the services it asks; it needs a service token too."""

    takes_service_calls: ClassVar[bool] = False

    engine_address: str
    """host:port or dns:///name:port of the engine."""
    wallet_address: str
    """host:port or dns:///name:port of the wallet; asked before a solo table is made (M7)."""
    rating_address: str
    """host:port or dns:///name:port of the rating service; asked for who hands in a ticket."""

    redis_url: SecretStr | None = None
    """Where the list of tables and the tickets are kept; without it the lobby does not start."""

    ping_after_ms: PositiveInt = 5_000
    """Sooner than elsewhere: until then a stream of a client that is gone keeps a ticket alive."""
    ping_timeout_ms: PositiveInt = 3_000

    tables_at_once: int = Field(default=10, ge=1)
    """How many tables a player may make in a row."""
    table_every_ms: int = Field(default=10_000, ge=1)
    """After how long a player who has made them may make one more."""
    seats_at_once: int = Field(default=20, ge=1)
    """How many tables a player may join in a row."""
    seat_every_ms: int = Field(default=3_000, ge=1)
    """After how long a player who has joined them may join one more."""
    redis_budget_ms: int = Field(default=1_000, ge=50)
    """How long a command to Redis may take in all before Redis counts as away."""
    most_list_watchers: int = Field(default=2_000, ge=1)
    """How many streams of a replica may follow lists of tables at once."""

    rating_window_points: int = Field(default=100, ge=1, le=4_000)
    """How far to each side of its own rating a new ticket takes others, in rating points."""
    rating_window_doubles_ms: int = Field(default=5_000, ge=100)
    """After each such wait the window is twice as wide."""
    rating_window_opens_ms: int = Field(default=30_000, ge=0)
    """After this wait the window takes everybody."""

    def rating_window(self) -> RatingWindow:
        """How a ticket's rating window widens."""
        return RatingWindow(
            self.rating_window_points, self.rating_window_doubles_ms, self.rating_window_opens_ms
        )
