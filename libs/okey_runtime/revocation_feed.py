"""Following the list of revoked tokens: a short question each second, from a cursor on.

A process that cannot ask keeps what it knows and goes on serving: an engine that is away must not
sign every player out of wallet and lobby. ``okey_revocations_age_seconds`` says how old the list
is, and an alert watches it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import grpc

from okey.api.engine.v1 import revocations_pb2, revocations_pb2_grpc
from okey_runtime.background import repeat
from okey_runtime.clock import Clock
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.logging import get_logger
from okey_runtime.revocation import AGE, Revocation, Revocations
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import ServiceTokenMissing
from okey_runtime.status import OK, WARNING, Found

_TIMEOUT_S: Final = 5.0
STALE_MS: Final = 30_000
"""From when on an old list is worth a look."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Page:
    """Entries after a cursor in the order of their writing, the cursor after them, and the newest
    one there is.
    """

    entries: Sequence[Revocation]
    cursor: int
    newest: int


Read = Callable[[int], Awaitable[Page]]
"""Gives the page after a cursor."""


class RevocationFeed:
    """Brings a process's list up to date, each ``every_ms``."""

    def __init__(self, revocations: Revocations, read: Read, every_ms: int, clock: Clock) -> None:
        self._revocations = revocations
        self._read = read
        self._every_ms = every_ms
        self._clock = clock
        self._cursor = 0
        AGE.set_function(lambda: revocations.age_ms / 1000)

    async def run(self) -> None:
        """Follow for ever; what cannot be read is asked for again in the next round."""
        await repeat("revocations", self.catch_up, self._every_ms, self._clock)

    async def catch_up(self) -> None:
        """Take everything that was written since the last time.

        Raises:
            RpcFailure, Unavailable, Exhausted: it could not be read.
        """
        page = await self._read(self._cursor)
        if page.newest < self._cursor:
            # The database was set back to an older state. What it has lost stays in force here.
            self._cursor = 0
            page = await self._read(0)
        while True:
            self._revocations.take(page.entries)
            self._cursor = page.cursor
            if page.cursor >= page.newest:
                break
            page = await self._read(self._cursor)
        self._revocations.heard()

    async def look(self) -> Found:
        """How old the list is, for the service's status."""
        age_ms = self._revocations.age_ms
        told = f"{len(self._revocations)} revoked tokens or players, heard {age_ms} ms ago"
        if age_ms < STALE_MS:
            return Found(OK, told)
        return Found(WARNING, told, "see whether the engine answers, and takes our token")


def follow_revocations(host: ServiceServer, read: Read) -> RevocationFeed:
    """Follow the list for as long as the service lives, and have its status tell of it."""
    feed = RevocationFeed(host.revocations, read, host.settings.revocations_every_ms, host.clock)
    host.status.check("revocations", feed.look)
    host.spawn(feed.run(), "revocations")
    return feed


def follow_from_engine(host: ServiceServer, channel: grpc.aio.Channel | None) -> None:
    """Follow the engine's list; ``channel`` carries the service's own token, None for no engine."""
    if channel is not None:
        follow_revocations(host, from_engine(channel))
        return
    AGE.set_function(lambda: host.revocations.age_ms / 1000)
    _log.warning(
        "revocations_are_not_followed",
        why="OKEY_ENGINE_ADDRESS or OKEY_SERVICE_TOKEN_DIR is not set: revoked tokens are taken "
        "here until they expire",
    )


def from_engine(channel: grpc.aio.Channel) -> Read:
    """Reads the pages from the engine; ``channel`` carries the service's own token."""
    stub = revocations_pb2_grpc.RevocationServiceStub(channel)

    async def read(cursor: int) -> Page:
        request = revocations_pb2.ListRevocationsRequest(cursor=cursor)
        try:
            answer = await stub.ListRevocations(request, timeout=_TIMEOUT_S, wait_for_ready=True)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        except ServiceTokenMissing as error:
            raise RpcFailure(grpc.StatusCode.UNAVAILABLE, "", str(error), {}) from error
        return Page([_entry(each) for each in answer.revocations], answer.cursor, answer.newest)

    return read


def _entry(message: revocations_pb2.Revocation) -> Revocation:
    return Revocation(
        message.until_ms,
        message.player_id,
        message.issued_before_ms,
        message.token_id,
        message.is_replaced,
    )
