"""The client's connections, one a service address; redirects open further ones."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Final

import grpc

from okey_runtime.channel import open_channel
from okey_runtime.service_token import AUTHORIZATION, Metadata
from okey_runtime.tls import ClientTls, Plaintext, Security

TokenProvider = Callable[[], str]
"""Gives the caller's token as it is now; asked for each call, so it may be renewed at any time."""


ENGINE_HEADER: Final = "okey-engine"
"""Metadata that tells the edge which engine a call is for (docs/api.md)."""


class Channels:
    """Channels by address, each call with the token of the moment; retries are the client's own."""

    def __init__(
        self,
        token_provider: TokenProvider,
        security: Security = Plaintext.ON_LOOPBACK,
        *,
        engine_tls_name: str = "",
        by_own_name: Collection[str] = (),
        edge: str = "",
    ) -> None:
        """Every address but those ``by_own_name`` is an engine's, whose certificate says
        ``engine_tls_name`` whatever address is dialled. Behind an ``edge`` only that is dialled,
        and it is told of the engine.
        """
        self._edge = edge
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
            channel = self._open(address)
            self._by_address[address] = channel
        return channel

    def _open(self, address: str) -> grpc.aio.Channel:
        if self._edge:
            token = partial(self._metadata, "" if address == self._edge else address)
            return open_channel(self._edge, token=token, security=self._security)
        is_engine = address not in self._by_own_name
        security = self._engine_security if is_engine else self._security
        return open_channel(address, token=self._metadata, security=security)

    async def close(self) -> None:
        """End every call and close every connection."""
        channels, self._by_address = self._by_address, {}
        for channel in channels.values():
            await channel.close()

    def _metadata(self, engine: str = "") -> Metadata:
        bearer = (AUTHORIZATION, f"Bearer {self._token_provider()}")
        return (bearer, (ENGINE_HEADER, engine)) if engine else (bearer,)
