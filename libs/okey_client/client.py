"""One player's, or one service's, way into the platform."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey_client.calls import Calls, RetryPolicy, UnaryMethod
from okey_client.channels import Channels, TokenProvider
from okey_client.lobby import LobbyClient
from okey_client.rating import RatingClient
from okey_client.table import TableClient
from okey_client.wallet import WalletClient
from okey_runtime.clock import Clock, SystemClock
from okey_runtime.tls import Plaintext, Security

Request = TypeVar("Request")
Response = TypeVar("Response")


class ClientNotConfigured(Exception):
    """A service is used whose address the client was not given; the message names the argument."""


class OkeyClient:
    """The platform for one token; close it, or use ``async with``.

    Addresses are ``host:port`` or ``dns:///name:port``; a service whose address is left out cannot
    be used. ``token_provider`` is asked for every call. ``security`` is TLS, or plaintext; with
    TLS, ``engine_tls_name`` is the name in every engine's certificate, also where a redirect names
    a bare address. From outside, ``edge_address`` stands for all the addresses: everything goes
    there, redirects too.
    """

    def __init__(
        self,
        *,
        token_provider: TokenProvider,
        lobby_address: str = "",
        engine_address: str = "",
        wallet_address: str = "",
        rating_address: str = "",
        policy: RetryPolicy | None = None,
        clock: Clock | None = None,
        security: Security = Plaintext.ON_LOOPBACK,
        engine_tls_name: str = "",
        edge_address: str = "",
    ) -> None:
        self._addresses = {
            "lobby": edge_address or lobby_address,
            "engine": edge_address or engine_address,
            "wallet": edge_address or wallet_address,
            "rating": edge_address or rating_address,
        }
        self._channels = Channels(
            token_provider,
            security,
            engine_tls_name=engine_tls_name,
            by_own_name=(lobby_address, wallet_address, rating_address),
            edge=edge_address,
        )
        self._calls = Calls(clock or SystemClock(), policy or RetryPolicy())

    @property
    def lobby(self) -> LobbyClient:
        """Tables and quick match; needs the engine's address too, where nonces go (T9)."""
        self._address("engine")
        return LobbyClient(self._channels.to(self._address("lobby")), self._calls, self.table)

    @property
    def wallet(self) -> WalletClient:
        """Chips."""
        return WalletClient(self._channels.to(self._address("wallet")), self._calls)

    @property
    def rating(self) -> RatingClient:
        """Ratings."""
        return RatingClient(self._channels.to(self._address("rating")), self._calls)

    def table(self, table_id: str, invite: str = "") -> TableClient:
        """One table; a private one with its code, unless one sits there."""
        return TableClient(
            table_id, self._address("engine"), self._channels, self._calls, invite=invite
        )

    async def where_am_i(self) -> TableClient | None:
        """The table where the token's player sits (W3)."""
        stub = engine_pb2_grpc.TableServiceStub(self._channels.to(self._address("engine")))
        found = await self._calls.unary(stub.WhereAmI, engine_pb2.WhereAmIRequest())
        return self.table(found.table_id) if found.table_id else None

    async def display_names(self, player_ids: Sequence[str]) -> Mapping[str, str]:
        """Names to show in place of up to 200 ids, none of them twice; who has none is left out."""
        stub = engine_pb2_grpc.TableServiceStub(self._channels.to(self._address("engine")))
        request = engine_pb2.GetDisplayNamesRequest(player_ids=player_ids)
        return (await self._calls.unary(stub.GetDisplayNames, request)).display_names

    async def call(
        self,
        service: str,
        method: Callable[[grpc.aio.Channel], UnaryMethod[Request, Response]],
        request: Request,
    ) -> Response:
        """Any unary call, for those who pass calls on: ``service`` is one of lobby, engine, wallet
        and rating, ``method`` gives its stub on a channel.

        Raises:
            RpcFailure: it was refused, or nobody has answered after the last try.
        """
        home = method(self._channels.to(self._address(service)))
        return await self._calls.unary(home, request, lambda at: method(self._channels.to(at)))

    async def close(self) -> None:
        """End every call and close every connection."""
        await self._channels.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def _address(self, service: str) -> str:
        address = self._addresses[service]
        if not address:
            raise ClientNotConfigured(f"OkeyClient was made without {service}_address")
        return address
