"""How every call is made: a deadline, bounded retries with jitter, failures with their reason.

What is retried is sent again unchanged, request_id included, so it takes effect once.
"""

import random
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

import grpc

from okey_runtime.clock import Clock
from okey_runtime.errors import RpcFailure, from_rpc_error

Request = TypeVar("Request", contravariant=True)
Response = TypeVar("Response", covariant=True)
Message = TypeVar("Message", covariant=True)

_REPEATABLE_CODES: Final = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
)
_NOT_OWNER: Final = "NOT_OWNER"
_REPEATABLE_REASONS: Final = frozenset(
    {"TABLE_BUSY", "ENGINE_BUSY", "RATE_LIMITED", "BUDGET_SPENT", "SERVICE_BUSY", "STREAM_NOT_READ"}
)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How patient a client is: tries of one call, the pauses between them, the deadline of each.

    A pause is random between half of a bound and the whole; the bound doubles from
    ``first_pause_ms`` to ``last_pause_ms``. The defaults wait 11 to 23 s in all, longer than a
    service takes to start again, or other engines to take the tables of a dead one over.
    """

    tries: int = 16
    first_pause_ms: int = 100
    last_pause_ms: int = 2_000
    deadline_ms: int = 10_000


class UnaryMethod(Protocol[Request, Response]):
    """A stub's unary method."""

    def __call__(self, request: Request, /, *, timeout: float | None = None) -> Awaitable[Response]:
        """Call it."""
        ...


class Stream(Protocol[Message]):
    """An open stream."""

    def __aiter__(self) -> AsyncIterator[Message]:
        """What comes, until it ends."""
        ...

    def cancel(self) -> bool:
        """End it."""
        ...


class Calls:
    """Makes calls for one client; ``chance`` gives the jitter, a number from 0 to 1."""

    def __init__(
        self, clock: Clock, policy: RetryPolicy, chance: Callable[[], float] = random.random
    ) -> None:
        self._clock = clock
        self._chance = chance
        self.policy: Final = policy

    async def unary(
        self,
        method: UnaryMethod[Request, Response],
        request: Request,
        elsewhere: Callable[[str], UnaryMethod[Request, Response]] | None = None,
    ) -> Response:
        """The answer to the request, sent again while nobody answers; ``elsewhere`` gives the
        method at the address that a refusal names, for the next try alone.

        Raises:
            RpcFailure: it was refused, or nobody has answered after the last try.
        """
        failures = 0
        asked = method
        while True:
            try:
                return await asked(request, timeout=self.policy.deadline_ms / 1000)
            except grpc.aio.AioRpcError as error:
                failure = from_rpc_error(error)
                failures += 1
                if not is_repeatable(failure) or failures >= self.policy.tries:
                    raise failure from error
            address = failure.metadata.get("address") if failure.reason == _NOT_OWNER else None
            asked = elsewhere(address) if elsewhere is not None and address else method
            await self.pause(failures)

    async def messages(
        self, open_stream: Callable[[], Stream[Message]]
    ) -> AsyncGenerator[Message, None]:
        """What a stream brings, opened again whenever it breaks or ends, until the caller stops;
        close the generator then.

        Raises:
            RpcFailure: it was refused, or nobody has answered after the last try.
        """
        failures = 0
        while True:
            call = open_stream()
            try:
                async for message in call:
                    failures = 0
                    yield message
                failures += 1
            except grpc.aio.AioRpcError as error:
                failure = from_rpc_error(error)
                failures += 1
                if not is_repeatable(failure) or failures >= self.policy.tries:
                    raise failure from error
            finally:
                call.cancel()
            await self.pause(failures)

    async def pause(self, failures: int) -> None:
        """Wait before the next try, after so many failures in a row."""
        bound = min(self.policy.last_pause_ms, self.policy.first_pause_ms << min(failures - 1, 20))
        pause_ms = round(bound * (1 + self._chance()) / 2)
        await self._clock.sleep_until_ms(self._clock.monotonic_ms() + pause_ms)


def is_repeatable(failure: RpcFailure) -> bool:
    """Whether the same request may be answered on another try."""
    return failure.code in _REPEATABLE_CODES or failure.reason in _REPEATABLE_REASONS


def new_request_id() -> str:
    """An id for one command; the same for its repetitions, never for another."""
    return secrets.token_hex(12)
