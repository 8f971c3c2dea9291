"""The only place where the gateway's parts meet."""

import asyncio
from collections.abc import Sequence
from typing import Final

import grpc

from okey_client import OkeyClient
from okey_runtime.access import AccessTable
from okey_runtime.bad_tokens import BadTokens
from okey_runtime.keys import load_signing_key
from okey_runtime.limits import Buckets
from okey_runtime.revocation_feed import follow_from_engine
from okey_runtime.server import ServiceServer
from services.gateway.caller import Callers, current_token
from services.gateway.guests import Guests
from services.gateway.origins import Origins
from services.gateway.places import Places
from services.gateway.session import Bounds, Shared
from services.gateway.sessions import Sessions
from services.gateway.settings import GatewaySettings
from services.gateway.stay import Port
from services.gateway.web import make_web
from services.gateway.web_server import WebServer
from services.gateway.web_tls import WebTls

_CONTROL_PER_S: Final = 1
_CONTROL_BURST: Final = 32
"""Pings, and pongs that nobody asked for, of one WebSocket."""


class GatewayApp:
    """The gateway: no state but open connections; any number of replicas.

    Its gRPC port serves what every service's does beside its own, health and status.
    """

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._client: OkeyClient | None = None
        self._channel: grpc.aio.Channel | None = None
        self._shared: Shared | None = None
        self._web: WebServer | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def settings(self) -> GatewaySettings:
        """The service's settings."""
        return self._settings

    @property
    def services(self) -> Sequence[str]:
        """None of its own."""
        return ()

    @property
    def access(self) -> AccessTable:
        """Nothing to be let in to."""
        return AccessTable({})

    @property
    def url(self) -> str:
        """The page's address, once started."""
        assert self._web is not None, "started before it is asked for"
        return self._web.url

    @property
    def shared(self) -> Shared:
        """What its connections share, once started."""
        assert self._shared is not None, "started before it is asked for"
        return self._shared

    async def start(self, host: ServiceServer) -> None:
        """Bind the port, and serve.

        Raises:
            OSError: the port is taken.
            KeyFileBroken: the guests' key cannot be used.
        """
        settings = self._settings
        self._client = OkeyClient(
            lobby_address=settings.lobby_address,
            engine_address=settings.engine_address,
            wallet_address=settings.wallet_address,
            rating_address=settings.rating_address,
            token_provider=current_token,
            clock=host.clock,
            security=host.security,
            engine_tls_name=settings.tls_engine_name,
        )
        sessions = Sessions(
            settings.gateway_connections,
            settings.gateway_connections_per_player,
            settings.gateway_return_within_ms,
        )
        bounds = Bounds(
            settings.gateway_queue_frames, settings.gateway_hello_ms, settings.gateway_cut_grace_ms
        )
        pace = Buckets(settings.calls_per_s, settings.calls_burst, host.clock)
        callers = self._callers(host)
        self._shared = Shared(
            self._client, callers, host.revocations, sessions, bounds, host.clock, pace, host.gate
        )
        port = self._port(host)
        web = make_web(
            self._shared,
            self._guests(host),
            host.readiness,
            Origins(settings.hosts, settings.origins),
            requests_per_address=settings.gateway_strangers_per_address,
            is_https=port.tls is not None or settings.gateway_tls_ends_before,
        )
        self._web = WebServer(web, settings.listen_host, settings.gateway_port, port)
        host.status.fact("page", lambda: self.url)
        host.status.figure("connections", sessions.__len__)
        self._follow_revocations(host)
        self._serving = host.spawn(self._web.run_until_stopped(), "web")
        await self._web.wait_ready()

    def _follow_revocations(self, host: ServiceServer) -> None:
        """With a token of its own the gateway follows the list; without one it leaves that to the
        services, which refuse its players' calls.
        """
        settings = self._settings
        if host.tokens.are_set:
            token = host.tokens.to("engine")
            name = settings.tls_engine_name
            self._channel = host.dial(settings.engine_address, token, tls_name=name)
        follow_from_engine(host, self._channel)

    async def drain(self) -> None:
        """Send every connection away, then take no more requests."""
        if self._shared is not None:
            await self._shared.sessions.drain()
        if self._web is not None and self._serving is not None:
            self._web.stop()
            await self._serving

    async def close(self) -> None:
        """Close the connections to the services, and the port."""
        if self._channel is not None:
            await self._channel.close()
        if self._client is not None:
            await self._client.close()
        if self._web is not None:
            self._web.close()

    def _callers(self, host: ServiceServer) -> Callers:
        settings, verifier = self._settings, host.verifier
        per_s, burst = settings.bad_tokens_per_s, settings.bad_tokens_burst
        return Callers(verifier, BadTokens(per_s, burst, host.clock, verifier.remembers))

    def _port(self, host: ServiceServer) -> Port:
        settings = self._settings
        return Port(
            Places(settings.gateway_strangers, settings.gateway_strangers_per_address),
            Places(settings.gateway_hellos, settings.gateway_hellos_per_address),
            settings.proxies,
            self._web_tls(),
            Buckets(_CONTROL_PER_S, _CONTROL_BURST, host.clock),
            Buckets(settings.gateway_opens_per_s, settings.gateway_opens_burst, host.clock),
            request_ms=settings.gateway_request_ms,
            answer_ms=settings.gateway_answer_ms,
            hello_ms=settings.gateway_hello_ms,
            grace_ms=settings.gateway_cut_grace_ms,
            unread_ms=settings.gateway_unread_ms,
        )

    def _web_tls(self) -> WebTls | None:
        settings = self._settings
        if settings.tls_cert_file is None or settings.tls_key_file is None:
            return None
        return WebTls(settings.certificate_files(), settings.tls_cert_file, settings.tls_key_file)

    def _guests(self, host: ServiceServer) -> Guests | None:
        settings = self._settings
        if settings.gateway_guest_key_file is None:
            return None
        key = load_signing_key(settings.gateway_guest_key_file)
        ttl_ms = settings.gateway_guest_token_ms
        return Guests(key, host.clock, ttl_ms, settings.token_audience)
