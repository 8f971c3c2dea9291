"""How a service shows who it is when it calls another: a token from a file that may be renewed at
any time. ``own_tokens`` says which file it is for which callee.
"""

# gRPC's call classes are generic to the type checker only.
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import grpc

from okey_runtime.files import FileStamp
from okey_runtime.trace import outgoing_trace

Metadata = tuple[tuple[str, str], ...]
MetadataProvider = Callable[[], Metadata]
"""Gives the metadata that goes with the next outgoing call."""

AUTHORIZATION: Final = "authorization"

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")
_Details = grpc.aio.ClientCallDetails


class ServiceTokenMissing(Exception):
    """The file that should hold a token of this service's own is missing or empty."""


class ServiceToken:
    """A token of this service, re-read when its file changes; calling it gives the
    ``authorization`` metadata. Of several files the first that holds a token counts.
    """

    def __init__(self, *paths: Path) -> None:
        self._paths = paths
        self._stamps: tuple[FileStamp, ...] = ()
        self._metadata: Metadata = ()

    def __call__(self) -> Metadata:
        """The metadata for the next call.

        Raises:
            ServiceTokenMissing: there is no token to be read, nor was there one before.
        """
        stamps = tuple(map(FileStamp.of, self._paths))
        if stamps != self._stamps:
            self._read()
            self._stamps = stamps
        return self._metadata

    def _read(self) -> None:
        token = next(filter(None, map(_content, self._paths)), "")
        if token:
            self._metadata = fixed_token(token)()
        elif not self._metadata:
            raise ServiceTokenMissing(
                f"no token in {' or '.join(map(str, self._paths))}: write the caller's own there"
            )


def _content(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def fixed_token(token: str) -> MetadataProvider:
    """A provider for a token that does not change, such as a player's."""
    metadata: Metadata = ((AUTHORIZATION, f"Bearer {token}"),)
    return lambda: metadata


def token_interceptors(token: MetadataProvider) -> Sequence[grpc.aio.ClientInterceptor]:
    """Client interceptors that add the provider's metadata to calls of all four kinds."""
    return [_UnaryUnary(token), _UnaryStream(token), _StreamUnary(token), _StreamStream(token)]


class _WithToken:
    def __init__(self, token: MetadataProvider) -> None:
        self._token = token

    def _add(self, details: _Details) -> _Details:
        metadata = grpc.aio.Metadata(*(details.metadata or ()), *self._token(), *outgoing_trace())
        return _Details(
            details.method, details.timeout, metadata, details.credentials, details.wait_for_ready
        )


class _UnaryUnary(_WithToken, grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(
        self,
        continuation: Callable[
            [_Details, _Request], Awaitable[grpc.aio.UnaryUnaryCall[_Request, _Response]]
        ],
        client_call_details: _Details,
        request: _Request,
    ) -> grpc.aio.UnaryUnaryCall[_Request, _Response]:
        return await continuation(self._add(client_call_details), request)


class _UnaryStream(_WithToken, grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(
        self,
        continuation: Callable[
            [_Details, _Request], Awaitable[grpc.aio.UnaryStreamCall[_Request, _Response]]
        ],
        client_call_details: _Details,
        request: _Request,
    ) -> grpc.aio.UnaryStreamCall[_Request, _Response]:
        return await continuation(self._add(client_call_details), request)


def _stop_sending(call: object) -> None:
    """End the task that sends a call's messages.

    gRPC leaves it waiting for more of them when the server ends the call. The collector would
    destroy it while it is pending, at a moment and in a task that have nothing to do with it.
    """
    sending: asyncio.Task[None] | None = getattr(call, "_async_request_poller", None)
    if sending is not None:
        sending.cancel()


class _StreamUnary(_WithToken, grpc.aio.StreamUnaryClientInterceptor):
    async def intercept_stream_unary(
        self,
        continuation: Callable[
            [_Details, AsyncIterable[_Request] | Iterable[_Request]],
            Awaitable[grpc.aio.StreamUnaryCall[_Request, _Response]],
        ],
        client_call_details: _Details,
        request_iterator: AsyncIterable[_Request] | Iterable[_Request],
    ) -> grpc.aio.StreamUnaryCall[_Request, _Response]:
        call = await continuation(self._add(client_call_details), request_iterator)
        call.add_done_callback(_stop_sending)
        return call


class _StreamStream(_WithToken, grpc.aio.StreamStreamClientInterceptor):
    async def intercept_stream_stream(
        self,
        continuation: Callable[
            [_Details, AsyncIterable[_Request] | Iterable[_Request]],
            Awaitable[grpc.aio.StreamStreamCall[_Request, _Response]],
        ],
        client_call_details: _Details,
        request_iterator: AsyncIterable[_Request] | Iterable[_Request],
    ) -> grpc.aio.StreamStreamCall[_Request, _Response]:
        call = await continuation(self._add(client_call_details), request_iterator)
        call.add_done_callback(_stop_sending)
        return call
