"""Settings of the gateway beside those of every service."""

from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from okey.errors import quoted
from okey_runtime.config import ServiceSettings, refuse_in_production
from services.gateway.heads import Network, parse_networks


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
    gateway_origins: str = ""
    """Origins on other hosts whose pages may call the gateway too, such as
    ``https://play.example.org``; by default none."""
    gateway_proxies: str = ""
    """Networks of the proxies before the gateway, such as ``10.0.0.0/8``: what they say in
    ``x-forwarded-for`` is believed, and their own connections are not counted by address."""
    gateway_tls_ends_before: bool = False
    """Whether a proxy before the gateway speaks HTTPS with browsers, so that they are told to use
    nothing else (HSTS); with ``OKEY_TLS_CERT_FILE`` they are told anyway."""
    gateway_guest_key_file: Path | None = None
    """The development key that signs guests' tokens; without one there are no guests."""
    gateway_guest_token_ms: int = Field(default=12 * 3_600_000, ge=60_000)
    """How long a guest's token holds."""

    gateway_connections: int = Field(default=5_000, ge=1)
    """How many WebSocket connections of players this process may have."""
    gateway_connections_per_player: int = Field(default=8, ge=1)
    """How many of them one player may have."""
    gateway_strangers: int = Field(default=256, ge=1)
    """How many connections this process may have that are no WebSocket."""
    gateway_strangers_per_address: int = Field(default=64, ge=1)
    """How many of them, and how many requests under way, one address may have."""
    gateway_hellos: int = Field(default=500, ge=1)
    """How many WebSocket connections this process may have that have not said who they are."""
    gateway_hellos_per_address: int = Field(default=64, ge=1)
    """How many of them one address may have."""
    gateway_opens_per_s: int = Field(default=50, ge=1)
    """How many WebSocket connections one address may open in a second."""
    gateway_opens_burst: int = Field(default=200, ge=1)
    """How many of them it may open at once after a pause."""
    gateway_request_ms: int = Field(default=10_000, ge=1)
    """How long a connection may take to send a request in full, or to finish TLS's handshake."""
    gateway_answer_ms: int = Field(default=60_000, ge=1)
    """How long an answer may take until it is read."""
    gateway_unread_ms: int = Field(default=20_000, ge=1)
    """How long a player's connection may leave unread what waits for it in its buffer."""
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

    @field_validator("gateway_origins")
    @classmethod
    def _origins_are_exact(cls, text: str) -> str:
        for origin in _names(text):
            found = urlsplit(origin)
            if (
                found.scheme not in ("http", "https")
                or origin != f"{found.scheme}://{found.netloc}"
            ):
                raise ValueError(
                    f"{quoted(origin)} is no origin: write it as https://play.example.org, without "
                    "path and wildcard"
                )
            if not found.hostname or "*" in found.netloc or "@" in found.netloc:
                raise ValueError(f"{quoted(origin)} names no single host")
        return text

    @field_validator("gateway_proxies")
    @classmethod
    def _proxies_are_networks(cls, text: str) -> str:
        parse_networks(text)
        return text

    @property
    def origins(self) -> frozenset[str]:
        """The origins on other hosts whose pages may call, in small letters."""
        return _names(self.gateway_origins)

    @property
    def proxies(self) -> tuple[Network, ...]:
        """The networks of the proxies that are believed."""
        return parse_networks(self.gateway_proxies)

    @property
    def hosts(self) -> frozenset[str]:
        """The names that browsers may call it by, in small letters."""
        return _names(self.gateway_hosts)


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in text.split(",") if name.strip())
