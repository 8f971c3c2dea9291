"""One call that is being served: who makes it, whether it may, and how it ends."""

# gRPC's context classes are generic to the type checker only.
from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Iterable
from types import TracebackType
from typing import Any, Final, NoReturn, Protocol, TypeAlias

import grpc
import structlog

from okey_runtime.aborting import abort_with
from okey_runtime.access import AccessTable
from okey_runtime.auth import bearer_token
from okey_runtime.bad_tokens import BadTokens
from okey_runtime.deadline import set_deadline
from okey_runtime.errors import (
    RpcFailure,
    internal_status,
    reason_of,
    status_code,
    to_status,
)
from okey_runtime.identity import Identity, Role, set_current_identity
from okey_runtime.limits import Gate
from okey_runtime.logging import get_logger
from okey_runtime.metrics import MethodMetrics
from okey_runtime.origin import Connection, Origin
from okey_runtime.trace import adopt_trace
from okey_runtime.trail import OperatorTrail

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

Metadata: TypeAlias = "Iterable[tuple[str, str | bytes]]"

_CODE_NAMES: Final = {code.value[0]: code.name for code in grpc.StatusCode}

_log = get_logger(__name__)
_trail: Final = OperatorTrail()


class Verifier(Protocol):
    """What tells from a token who calls; ``TokenVerifier`` is the one for production."""

    def verify(self, token: str) -> Identity:
        """The identity that the token proves, or an ``Unauthenticated`` error."""
        ...


class Certificates(Protocol):
    """What tells from a connection's certificate who calls; ``Peers`` is the one for production."""

    def identify(self, connection: Connection) -> Identity | None:
        """The caller, or None."""
        ...

    def confirm(self, caller: Identity, connection: Connection) -> None:
        """Return if the certificate bears out what the caller's token says, or raise an
        ``Unauthenticated`` error.
        """
        ...


class Callers:
    """Tells who calls: a token says it, which the connection's certificate has to bear out, and
    without one the certificate alone.
    """

    def __init__(
        self,
        verifier: Verifier,
        certificates: Certificates | None = None,
        bad_tokens: BadTokens | None = None,
        edge_name: str = "",
    ) -> None:
        self._verifier = verifier
        self._certificates = certificates
        self._bad_tokens = bad_tokens
        self._edge_name = edge_name

    def identify(self, metadata: Metadata, connection: Connection) -> Identity | None:
        """The caller; None where there is neither.

        Raises an ``Unauthenticated`` error, or ``TooManyBadTokens``.
        """
        token = bearer_token(metadata)
        if token is None:
            return None if self._certificates is None else self._certificates.identify(connection)
        caller = self._verified(token, metadata, connection)
        if self._certificates is not None:
            self._certificates.confirm(caller, connection)
        return caller

    def _verified(self, token: str, metadata: Metadata, connection: Connection) -> Identity:
        if self._bad_tokens is None:
            return self._verifier.verify(token)
        with self._bad_tokens.looked_at(token, Origin(metadata, connection, self._edge_name)):
            return self._verifier.verify(token)


class ServedMethod:
    """One method of this server: what stands around each of its calls."""

    def __init__(
        self,
        name: str,
        callers: Callers,
        access: AccessTable,
        gate: Gate,
        metrics: MethodMetrics,
    ) -> None:
        self.name: Final = name
        self.gate: Final = gate
        self.metrics: Final = metrics
        self._callers = callers
        self._access = access
        self._is_public = access.is_public(name)
        self._cost = access.cost(name)

    def identify(self, metadata: Metadata, connection: Connection) -> Identity | None:
        """Who calls; None where the method is open to everybody."""
        return None if self._is_public else self._callers.identify(metadata, connection)

    def admit(self, caller: Identity | None) -> None:
        """Return if the caller may call, and not too often. Raises what says why not."""
        self._access.check(self.name, caller)
        self.gate.refuse_if_too_often(caller, self.name, self._cost)


class ServedCall:
    """Around one call: leaving it maps errors to statuses, counts, and notes what operators do."""

    __slots__ = ("_caller", "_context", "_method", "_request", "_started_s")

    def __init__(self, method: ServedMethod, context: Context, request: object) -> None:
        self._method = method
        self._context = context
        self._request = request
        self._caller: Identity | None = None

    async def __aenter__(self) -> ServedCall:
        self._started_s = time.perf_counter()
        self._method.metrics.started.inc()
        return self

    def authenticate(self) -> Identity | None:
        """Find out who calls, whether it may, and put it where the handler and the log find it."""
        context, method = self._context, self._method
        structlog.contextvars.clear_contextvars()
        metadata = context.invocation_metadata() or ()
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

    def paced(self, request: Any) -> Any:
        """The request; where it is a stream of them, no faster than its caller may send them."""
        if hasattr(request, "__aiter__"):
            return self._method.gate.paced(request, self._caller, self._method.name)
        return request

    async def within(self, most_ms: int, answer: Awaitable[Any]) -> Any:
        """The answer, which may take so long, whatever the caller's deadline.

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
        if error is None or isinstance(error, grpc.aio.AbortError):
            self._ended(_code_name(self._context.code()))
        elif isinstance(error, GeneratorExit) or _is_cancelled(error):
            self._ended("CANCELLED")
        elif isinstance(error, grpc.aio.InternalError):
            # It cannot be written to: its caller has gone, and gRPC is about to cancel it.
            self._ended("CANCELLED")
            raise asyncio.CancelledError("the caller has gone") from error
        elif isinstance(error, Exception | asyncio.CancelledError):
            await self._refuse(error)

    async def _refuse(self, error: BaseException) -> NoReturn:
        """End the call with the error's status; always raises, as ``abort`` does."""
        status = to_status(error)
        if status is None:
            error_id = secrets.token_hex(8)
            status = internal_status(error_id)
            _log.error("unexpected_error", error_id=error_id, exc_info=error)
        self._ended(status_code(status).name, reason_of(status))
        await abort_with(self._context, status)

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
