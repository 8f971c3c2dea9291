"""Serves one call: finds its caller, checks access, and maps its end to a status."""

# gRPC's context classes are generic to the type checker only.
from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Final, NoReturn, Protocol, TypeAlias

import grpc
import structlog

from okey_runtime.aborting import abort_with
from okey_runtime.access import AccessTable, TokenMissing
from okey_runtime.arriving import Arrivals, RequestNotSent
from okey_runtime.auth import bearer_token
from okey_runtime.bad_tokens import BadTokens, TooManyBadTokens, host_of_peer
from okey_runtime.connections import Connections
from okey_runtime.deadline import set_deadline
from okey_runtime.errors import (
    MalformedRequest,
    RpcFailure,
    reason_of,
    status_code,
)
from okey_runtime.garbage import Litter
from okey_runtime.identity import Identity, Role, set_current_identity
from okey_runtime.limits import Gate
from okey_runtime.metrics import MethodMetrics
from okey_runtime.origin import Connection, Origin, is_edge
from okey_runtime.requests import Requests
from okey_runtime.revocation import End, Revocations
from okey_runtime.trace import adopt_trace
from okey_runtime.trail import OperatorTrail
from okey_runtime.unforeseen import status_for

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

Metadata: TypeAlias = "Iterable[tuple[str, str | bytes]]"

_CODE_NAMES: Final = {code.value[0]: code.name for code in grpc.StatusCode}

_OF_STRAYS: Final = (TokenMissing, TooManyBadTokens, RequestNotSent)
"""Refusals of calls without a caller that count against their connection; bad tokens are counted
apart.
"""

_trail: Final = OperatorTrail()
_litter: Final = Litter()


class Verifier(Protocol):
    """Identifies a caller by its token; production uses ``TokenVerifier``."""

    def verify(self, token: str) -> Identity:
        """The identity that the token proves, or an ``Unauthenticated`` error."""
        ...


class Certificates(Protocol):
    """Identifies a caller by its connection's certificate; production uses ``Peers``."""

    def identify(self, connection: Connection) -> Identity | None:
        """The caller, or None."""
        ...

    def confirm(self, caller: Identity, connection: Connection) -> None:
        """Return if the certificate bears out what the caller's token says, or raise an
        ``Unauthenticated`` error.
        """
        ...


class Callers:
    """Identifies callers: by the token, which the certificate must confirm; without a token, by
    the certificate alone.
    """

    def __init__(
        self,
        verifier: Verifier,
        certificates: Certificates | None = None,
        bad_tokens: BadTokens | None = None,
        edge_name: str = "",
        connections: Connections | None = None,
    ) -> None:
        self._verifier = verifier
        self._connections = connections
        self._certificates = certificates
        self._bad_tokens = bad_tokens
        self._edge_name = edge_name

    def identify(self, metadata: Metadata, connection: Connection) -> Identity | None:
        """The caller; None where there is neither.

        Raises an ``Unauthenticated`` error, or ``TooManyBadTokens``.
        """
        token = bearer_token(metadata)
        caller = None
        if token is not None:
            caller = self._verified(token, metadata, connection)
            if self._certificates is not None:
                self._certificates.confirm(caller, connection)
        elif self._certificates is not None:
            caller = self._certificates.identify(connection)
        if caller is not None and self._connections is not None:
            self._connections.known(connection.peer())
        return caller

    def stray(self, connection: Connection) -> bool:
        """Count a call that ended without a caller; true where that closes its connection."""
        if self._connections is None or is_edge(connection, self._edge_name):
            return False
        return self._connections.stray(connection.peer())

    def _verified(self, token: str, metadata: Metadata, connection: Connection) -> Identity:
        if self._bad_tokens is None:
            return self._verifier.verify(token)
        with self._bad_tokens.looked_at(token, Origin(metadata, connection, self._edge_name)):
            return self._verifier.verify(token)

    def host(self, metadata: Metadata, connection: Connection) -> str:
        """The host that a call comes from, as the edge says where it came through that."""
        return host_of_peer(Origin(metadata, connection, self._edge_name).peer())


class ServedMethod:
    """One method of this server: what stands around each of its calls."""

    def __init__(
        self,
        name: str,
        requests: Requests,
        arrivals: Arrivals,
        callers: Callers,
        access: AccessTable,
        gate: Gate,
        metrics: MethodMetrics,
        revocations: Revocations,
    ) -> None:
        self._revocations = revocations
        self.name: Final = name
        self.requests: Final = requests
        self.arrivals: Final = arrivals
        self.callers: Final = callers
        self.gate: Final = gate
        self.metrics: Final = metrics
        self._access = access
        self._is_public = access.is_public(name)
        self._cost = access.cost(name)

    def identify(self, metadata: Metadata, connection: Connection) -> Identity | None:
        """Who calls; None where the method is open to everybody."""
        return None if self._is_public else self.callers.identify(metadata, connection)

    def until_end(self, caller: Identity | None, end: End) -> AbstractContextManager[None]:
        """While the block runs, the end of the caller's token, if any, calls ``end``."""
        return nullcontext() if caller is None else self._revocations.until_end(caller, end)

    def admit(self, caller: Identity | None) -> None:
        """Return if the caller may call, and not too often. Raises what says why not."""
        self._access.check(self.name, caller)
        self.gate.refuse_if_too_often(caller, self.name, self._cost)


class ServedCall:
    """Around one call: leaving it maps errors to statuses, counts, and notes what operators do."""

    __slots__ = (
        "_caller",
        "_context",
        "_has_message",
        "_metadata",
        "_method",
        "_request",
        "_started_s",
    )

    def __init__(self, method: ServedMethod, context: Context) -> None:
        self._method = method
        self._context = context
        self._request: object = None
        self._has_message = False
        self._metadata: Metadata = ()
        self._caller: Identity | None = None

    async def __aenter__(self) -> ServedCall:
        self._started_s = time.perf_counter()
        self._method.metrics.started.inc()
        return self

    def authenticate(self) -> Identity | None:
        """Find out who calls, whether it may, and put it where the handler and the log find it."""
        context, method = self._context, self._method
        structlog.contextvars.clear_contextvars()
        # Read once: gRPC decodes it at each access, however many entries a stranger has sent.
        metadata = self._metadata = context.invocation_metadata() or ()
        trace_id = adopt_trace(metadata)
        structlog.contextvars.bind_contextvars(method=method.name, trace_id=trace_id)
        caller = self._caller = method.identify(metadata, context)
        set_current_identity(caller)
        set_deadline(context.time_remaining())
        if caller is not None:
            name = "player_id" if Role.PLAYER in caller.roles else "caller"
            structlog.contextvars.bind_contextvars(**{name: caller.subject})
        method.admit(caller)
        return caller

    async def message(self) -> Any:
        """The call's one message, now that it is known who calls.

        Raises:
            RequestNotSent: it does not come in time.
            InvalidInput: it is not there, too large, unreadable, or breaks a rule.
        """
        content = await self._first()
        if content is grpc.aio.EOF:
            raise MalformedRequest("the call was sent without its message")
        requests = self._method.requests
        # Unchecked at first: the trail tells of a call that is refused what it was about.
        request = self._request = requests.read(content)
        return requests.checked(request)

    async def messages(self) -> AsyncIterator[Any]:
        """The messages of a stream up to its end, no faster than its caller may send them; raises
        what ``message`` does.
        """
        # Not gRPC's own iterator: one that is left half-read keeps itself, and the call with it.
        method, read, host = self._method, self._context.read, self.host
        content = await self._first()
        while content is not grpc.aio.EOF:
            await method.gate.pace(self._caller, method.name, host)
            yield method.requests.of_stream(content)
            content = await read()

    async def _first(self) -> Any:
        context, method, caller = self._context, self._method, self._caller
        whose = self.host if caller is None else caller.payer
        message = await method.arrivals.of(context.read(), whose)
        self._has_message = True
        return message

    @property
    def host(self) -> str:
        """Where a call without a caller comes from; "" where it is known who calls."""
        if self._caller is not None:
            return ""
        return self._method.callers.host(self._metadata, self._context)

    async def within(self, most_ms: int, answer: Awaitable[Any]) -> Any:
        """The answer; ``most_ms`` limits its time, even where the caller's deadline is later.

        Raises ``RpcFailure``.
        """
        # gRPC's types do not know that a call without a deadline has no time remaining.
        remaining_s: float | None = self._context.time_remaining()
        if remaining_s is None or remaining_s > most_ms / 1000:
            set_deadline(most_ms / 1000)
        limit = asyncio.timeout(most_ms / 1000)
        try:
            async with limit:
                return await answer
        except TimeoutError:
            if not limit.expired():
                raise
            raise RpcFailure(
                grpc.StatusCode.DEADLINE_EXCEEDED,
                "CALL_TOO_LONG",
                f"no answer within {most_ms} ms, the longest that a call may take here",
                {},
            ) from None

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._caller is None:
            _litter.add(self._metadata)
        if error is None or isinstance(error, grpc.aio.AbortError):
            self._ended(_code_name(self._context.code()))
        elif isinstance(error, GeneratorExit) or _is_cancelled(error):
            self._strays()
            self._ended("CANCELLED")
        elif isinstance(error, grpc.aio.InternalError):
            # It cannot be written to: its caller has gone, and gRPC is about to cancel it.
            self._ended("CANCELLED")
            raise asyncio.CancelledError("the caller has gone") from error
        elif isinstance(error, Exception | asyncio.CancelledError):
            await self._refuse(error)

    async def _refuse(self, error: BaseException) -> NoReturn:
        """End the call with the error's status; always raises, as ``abort`` does."""
        if isinstance(error, _OF_STRAYS) and self._strays():
            self._ended("CANCELLED")
            raise asyncio.CancelledError("its connection goes") from error
        status = status_for(error)
        # The trail alone asks for the reason, and never of a call without a caller.
        reason = "" if self._caller is None else reason_of(status)
        self._ended(status_code(status).name, reason)
        await abort_with(self._context, status)

    def _strays(self) -> bool:
        """Whether the connection goes, since such calls as this come again and again."""
        is_strangers = self._caller is None and not self._has_message
        return is_strangers and self._method.callers.stray(self._context)

    def _ended(self, code: str, reason: str = "") -> None:
        self._method.metrics.ended(code, time.perf_counter() - self._started_s)
        _trail.ended(self._caller, self._method.name, self._request, code, reason)


def _is_cancelled(error: BaseException) -> bool:
    """Whether the call itself was cancelled (client gone, deadline, shutdown).

    A handler that lets the CancelledError of something else escape looks alike, but nobody would
    answer the client.
    """
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _code_name(code: object) -> str:
    if isinstance(code, grpc.StatusCode):
        return code.name
    return _CODE_NAMES.get(code, "UNKNOWN") if isinstance(code, int) else "OK"
