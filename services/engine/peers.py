"""The other engines of the same database, as this one calls them."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Final, Protocol, TypeVar

import grpc

from okey.api.engine.v1 import peer_pb2, peer_pb2_grpc
from okey_runtime.errors import from_rpc_error
from okey_runtime.service_token import MetadataProvider

_TIMEOUT_S: Final = 2.0
_HAND_OVER_TIMEOUT_S: Final = 10.0
_LONGEST_CALL_S: Final = 10.0

T = TypeVar("T")


class Bell(Protocol):
    """Tells another engine that there is news; ``Peers`` is the one for production."""

    async def look(self, address: str) -> int:
        """Have it look at the board at once. Raises ``RpcFailure``."""
        ...

    def keep(self, addresses: Collection[str]) -> None:
        """Whoever is elsewhere is not there any more."""
        ...


class Peers:
    """Channels by address; every method raises ``RpcFailure`` where the engine does not answer."""

    def __init__(
        self,
        token: MetadataProvider,
        dial: Callable[[str, MetadataProvider | None], grpc.aio.Channel],
    ) -> None:
        self._token = token
        self._dial = dial
        self._ours: dict[str, grpc.aio.Channel] = {}
        self._bare: dict[str, grpc.aio.Channel] = {}
        self._closing: dict[grpc.aio.Channel, asyncio.Task[None]] = {}

    def bare(self, address: str) -> grpc.aio.Channel:
        """A channel on which each call brings its own token."""
        channel = self._bare.get(address)
        if channel is None:
            channel = self._bare[address] = self._dial(address, None)
        return channel

    async def look(self, address: str) -> int:
        """Have it look at the board at once; how many matches run there."""
        answer = await _asked(self._stub(address).Look, peer_pb2.LookRequest(), _TIMEOUT_S)
        return answer.running_matches

    async def hand_over(self, address: str, shard: int, engine: str) -> None:
        """Have it give a shard to an engine."""
        request = peer_pb2.HandOverRequest(shard=shard, engine=engine)
        await _asked(self._stub(address).HandOver, request, _HAND_OVER_TIMEOUT_S)

    async def leave(self, address: str) -> int:
        """Have it leave; how many tables it had."""
        answer = await _asked(self._stub(address).Leave, peer_pb2.LeaveRequest(), _TIMEOUT_S)
        return answer.tables

    async def list_tables(
        self, address: str, page_size: int, after: str
    ) -> peer_pb2.ListOwnTablesResponse:
        """A page of its tables."""
        request = peer_pb2.ListOwnTablesRequest(page_size=page_size, after=after)
        return await _asked(self._stub(address).ListOwnTables, request, _TIMEOUT_S)

    async def forget_player(self, address: str, player: str) -> None:
        """Have it forget the player's name."""
        request = peer_pb2.ForgetPlayerRequest(player_id=player)
        await _asked(self._stub(address).ForgetPlayer, request, _TIMEOUT_S)

    def keep(self, addresses: Collection[str]) -> None:
        """Close the channels to others, which would try to connect for ever; calls that are under
        way there may end first.
        """
        for channel in self._forget_all_but(addresses):
            self._closing[channel] = asyncio.create_task(self._close(channel))

    async def _close(self, channel: grpc.aio.Channel) -> None:
        await channel.close(_LONGEST_CALL_S)
        del self._closing[channel]

    async def close(self) -> None:
        """Close every channel at once."""
        every, closing = [*self._closing, *self._forget_all_but(())], [*self._closing.values()]
        for task in closing:
            task.cancel()
        await asyncio.gather(*closing, return_exceptions=True)
        await asyncio.gather(*(channel.close() for channel in every))

    def _forget_all_but(self, addresses: Collection[str]) -> list[grpc.aio.Channel]:
        return [
            channels.pop(address)
            for channels in (self._ours, self._bare)
            for address in channels.keys() - set(addresses)
        ]

    def _stub(self, address: str) -> peer_pb2_grpc.PeerServiceStub:
        channel = self._ours.get(address)
        if channel is None:
            channel = self._ours[address] = self._dial(address, self._token)
        return peer_pb2_grpc.PeerServiceStub(channel)


async def _asked(method: Callable[..., Awaitable[T]], request: object, timeout_s: float) -> T:
    try:
        return await method(request, timeout=timeout_s)
    except grpc.aio.AioRpcError as error:
        raise from_rpc_error(error) from error
