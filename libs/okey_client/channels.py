"""The client's connections, one a service address; redirects open further ones."""

from collections.abc import Callable, Collection

import grpc

from okey_runtime.channel import open_channel
from okey_runtime.service_token import AUTHORIZATION, Metadata
from okey_runtime.tls import ClientTls, Plaintext, Security

TokenProvider = Callable[[], str]
"""Gives the caller's token as it is now; asked for each call, so it may be renewed at any time."""


class Channels:
    """Channels by address, each call with the token of the moment; retries are the client's own."""

    def __init__(
        self,
        token_provider: TokenProvider,
        security: Security = Plaintext.ON_LOOPBACK,
        *,
        engine_tls_name: str = "",
        by_own_name: Collection[str] = (),
    ) -> None:
        """Every address but those ``by_own_name`` is an engine's, whose certificate says
        ``engine_tls_name`` whatever address is dialled.
        """
        self._token_provider = token_provider
        self._security = security
        self._engine_security = security
        if engine_tls_name and isinstance(security, ClientTls):
            self._engine_security = security.named(engine_tls_name)
        self._by_own_name = frozenset(by_own_name)
        self._by_address: dict[str, grpc.aio.Channel] = {}

    def to(self, address: str) -> grpc.aio.Channel:
        """The channel to that address (``host:port`` or ``dns:///name:port``)."""
        channel = self._by_address.get(address)
        if channel is None:
            is_engine = address not in self._by_own_name
            security = self._engine_security if is_engine else self._security
            channel = open_channel(address, token=self._metadata, security=security)
            self._by_address[address] = channel
        return channel

    async def close(self) -> None:
        """End every call and close every connection."""
        channels, self._by_address = self._by_address, {}
        for channel in channels.values():
            await channel.close()

    def _metadata(self) -> Metadata:
        return ((AUTHORIZATION, f"Bearer {self._token_provider()}"),)
