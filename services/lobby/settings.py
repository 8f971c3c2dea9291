"""Settings of the lobby beside those of every service."""

from okey_runtime.config import ServiceSettings


class LobbySettings(ServiceSettings):
    """Where the lobby finds the services it asks; ``OKEY_REDIS_URL`` and a service token too."""

    engine_address: str
    """host:port or dns:///name:port of the engine."""
    wallet_address: str
    """host:port or dns:///name:port of the wallet; asked before a solo table is made (M7)."""
