"""A channel whose certificate may be renewed: new calls go out with what the files hold then.

gRPC for Python fixes a client's certificate when the channel is made. So this one makes another
when the files have changed; calls that are under way keep the connection they were begun on.
"""

# gRPC's call classes are generic to the type checker only.
from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

import grpc

from okey_runtime.tls import CertificateFiles, Material

_OLD_CALLS_END_S: Final = 3_600.0
"""How long calls that are under way may go on over a connection with the old certificate."""

Open = Callable[[Material], grpc.aio.Channel]


class RenewedChannel(grpc.aio.Channel):
    """Stands for the newest of the channels that ``open_one`` has made."""

    def __init__(self, files: CertificateFiles, open_one: Open) -> None:
        self._files = files
        self._open_one = open_one
        self._material = files.current()
        self._channel = open_one(self._material)
        self._closing: set[asyncio.Task[None]] = set()

    def newest(self) -> grpc.aio.Channel:
        """The channel for a call that begins now."""
        material = self._files.current()
        if material is not self._material:
            old, self._material = self._channel, material
            self._channel = self._open_one(material)
            self._retire(old)
        return self._channel

    def _retire(self, old: grpc.aio.Channel) -> None:
        task = asyncio.ensure_future(old.close(_OLD_CALLS_END_S))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def __aenter__(self) -> RenewedChannel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self, grace: float | None = None) -> None:
        """End every call, also those over older channels."""
        for task in self._closing:
            task.cancel()
        await asyncio.gather(*self._closing, return_exceptions=True)
        await self._channel.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        """The newest channel's state."""
        return self.newest().get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Return when the newest channel's state is another."""
        await self.newest().wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        """Return when the newest channel is connected."""
        await self.newest().channel_ready()

    def unary_unary(self, *args: Any, **kwargs: Any) -> Any:
        """A method of this kind, on the newest channel at each call."""
        return self._each("unary_unary", args, kwargs)

    def unary_stream(self, *args: Any, **kwargs: Any) -> Any:
        """A method of this kind, on the newest channel at each call."""
        return self._each("unary_stream", args, kwargs)

    def stream_unary(self, *args: Any, **kwargs: Any) -> Any:
        """A method of this kind, on the newest channel at each call."""
        return self._each("stream_unary", args, kwargs)

    def stream_stream(self, *args: Any, **kwargs: Any) -> Any:
        """A method of this kind, on the newest channel at each call."""
        return self._each("stream_stream", args, kwargs)

    def _each(self, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        made: tuple[grpc.aio.Channel, Callable[..., Any]] | None = None

        def call(*call_args: Any, **call_kwargs: Any) -> Any:
            nonlocal made
            channel = self.newest()
            if made is None or made[0] is not channel:
                method = cast("Callable[..., Any]", getattr(channel, kind)(*args, **kwargs))
                made = (channel, method)
            return made[1](*call_args, **call_kwargs)

        return call
