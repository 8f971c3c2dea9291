"""Settings of the gateway beside those of every service."""

from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, field_validator, model_validator

from okey_runtime.config import ServiceSettings, refuse_in_production


class GatewaySettings(ServiceSettings):
    """Where browsers find the gateway, where it finds the services, and what it bears."""

    takes_service_calls: ClassVar[bool] = False

    lobby_address: str
    """host:port or dns:///name:port of the lobby."""
    engine_address: str
    """host:port or dns:///name:port of the engine."""
    wallet_address: str
    """host:port or dns:///name:port of the wallet."""
    rating_address: str
    """host:port or dns:///name:port of the rating service."""

    gateway_port: int = Field(default=0, ge=0, le=65535)
    """Where browsers are served, on ``OKEY_LISTEN_HOST``; 0 for any free port. HTTPS once
    ``OKEY_TLS_CERT_FILE`` is set."""
    gateway_hosts: str = "localhost,127.0.0.1,[::1]"
    """The names that browsers may call it by, without port; any other Host or Origin is refused."""
    gateway_guest_key_file: Path | None = None
    """The development key that signs guests' tokens; without one there are no guests."""
    gateway_guest_token_ms: int = Field(default=12 * 3_600_000, ge=60_000)
    """How long a guest's token holds."""

    gateway_connections: int = Field(default=5_000, ge=1)
    """How many WebSocket connections this process may have."""
    gateway_connections_per_player: int = Field(default=8, ge=1)
    """How many of them one player may have."""
    gateway_queue_frames: int = Field(default=512, ge=8)
    """How many frames may wait for a connection's reader before it is cut."""
    gateway_hello_ms: int = Field(default=10_000, ge=1)
    """How long a new connection may take to say who it is."""
    gateway_cut_grace_ms: int = Field(default=5_000, ge=0)
    """How long a connection that is ended may take to read what it was told."""
    gateway_return_within_ms: int = Field(default=5_000, ge=0)
    """Over what time those come back who are sent away by a gateway that stops."""

    _test_only = model_validator(mode="after")(refuse_in_production("gateway_guest_key_file"))

    @field_validator("gateway_hosts")
    @classmethod
    def _hosts_are_named(cls, text: str) -> str:
        if not _names(text):
            raise ValueError("name at least one host, such as play.example.org")
        return text

    @model_validator(mode="after")
    def _guests_tokens_are_taken(self) -> Self:
        if self.gateway_guest_token_ms > self.player_token_max_life_ms:
            raise ValueError(
                f"OKEY_GATEWAY_GUEST_TOKEN_MS is {self.gateway_guest_token_ms}, and a player's "
                f"token may live for OKEY_PLAYER_TOKEN_MAX_LIFE_MS={self.player_token_max_life_ms}"
            )
        return self

    @property
    def hosts(self) -> frozenset[str]:
        """The names that browsers may call it by, in small letters."""
        return _names(self.gateway_hosts)


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in text.split(",") if name.strip())
