"""Unary calls about tables of other engines are passed on, one hop; who asks notices nothing.

The caller's own token goes along and is checked again where the table is. Passing on is safe
because each call takes effect once however often it arrives.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, Final, NoReturn, Protocol, TypeVar

import grpc

from okey.errors import Exhausted, Unavailable
from okey_runtime.aborting import abort
from okey_runtime.errors import STATUS_DETAILS_KEY, from_rpc_error
from okey_runtime.service_token import AUTHORIZATION
from okey_runtime.trace import outgoing_trace
from services.engine.errors import NotOwner, OwnerAway, TableReloading
from services.engine.metrics import FORWARDED
from services.engine.ownership import Ownership
from services.engine.peers import Peers
from services.engine.routes import Routes
from services.engine.shards import Member

FORWARDED_BY: Final = "okey-forwarded-by"
"""Metadata of a call that was passed on, with the name of the engine that did."""

_TIMEOUT_S: Final = 10.0
_PATIENCE_S: Final = 1.0
_MOST_TRIES: Final = 3
# What an engine says that is not the table's any more, or is about to end.
_ELSEWHERE: Final = frozenset({NotOwner.reason, "ENGINE_STOPPING"})

Context = grpc.aio.ServicerContext[Any, Any]
Request = TypeVar("Request")
Response = TypeVar("Response")


class Forwards(Protocol):
    """A servicer whose calls are passed on; ``stub`` makes the same calls on a channel."""

    @property
    def forwarding(self) -> "Forwarding":
        """Who passes them on."""
        ...

    @property
    def stub(self) -> Callable[[grpc.aio.Channel], object]:
        """The stub of the same service."""
        ...


S = TypeVar("S", bound=Forwards)
Method = Callable[Concatenate[S, Request, ...], Coroutine[Any, Any, Response]]


def forwarded(
    method: Callable[[S, Request, Context], Coroutine[Any, Any, Response]],
) -> Callable[[S, Request, Context], Coroutine[Any, Any, Response]]:
    """Marks a unary method about a table: where that is another engine's, the call is passed on."""

    @wraps(method)
    async def answer(servicer: S, request: Request, context: Context) -> Response:
        return await servicer.forwarding.answer(
            Call(servicer.stub, method.__name__, request, context),
            lambda: method(servicer, request, context),
        )

    return answer


class Call:
    """A call that came here, as it can be made elsewhere."""

    def __init__(
        self,
        stub: Callable[[grpc.aio.Channel], object],
        method: str,
        request: object,
        context: Context,
    ) -> None:
        self._stub = stub
        self._method = method
        self._request = request
        self._context = context

    @property
    def table_id(self) -> str:
        """The table that the request names, if it does."""
        return getattr(self._request, "table_id", "")

    @property
    def was_forwarded(self) -> bool:
        """Whether another engine has passed it on."""
        return any(key == FORWARDED_BY for key, _ in self._metadata())

    async def make(self, channel: grpc.aio.Channel, engine: str) -> Any:
        """Make it on a channel. Raises ``AioRpcError``."""
        token = [(key, value) for key, value in self._metadata() if key == AUTHORIZATION]
        # Of a call without a deadline it is None, whatever the stub says.
        left_s = self._context.time_remaining() or _TIMEOUT_S
        return await getattr(self._stub(channel), self._method)(
            self._request,
            timeout=min(left_s, _TIMEOUT_S),
            metadata=(*token, *outgoing_trace(), (FORWARDED_BY, engine)),
        )

    async def refuse(self, error: grpc.aio.AioRpcError) -> NoReturn:
        """End it with the very status that another engine gave; always raises."""
        details = tuple(
            (key, value)
            for key, value in error.trailing_metadata() or ()
            if key == STATUS_DETAILS_KEY and isinstance(value, bytes)
        )
        await abort(self._context, error.code(), error.details() or "", details)

    def _metadata(self) -> list[tuple[str, str | bytes]]:
        return [(key, value) for key, value in self._context.invocation_metadata() or ()]


class Forwarding:
    """Passes calls on to the engine that has the table."""

    def __init__(
        self,
        ownership: Ownership,
        routes: Routes,
        peers: Peers,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        """``patience_s`` is how long an answer may take before the board is looked at again."""
        self._ownership = ownership
        self._routes = routes
        self._peers = peers
        self._patience_s = patience_s

    async def answer(self, call: Call, serve: Callable[[], Awaitable[Response]]) -> Response:
        """The answer of this engine, or of the one that has the table.

        Raises:
            NotOwner: the call was passed on already, or nobody has the table just now.
            OwnerAway: the engine that has it does not answer.
        """
        asked: Member | None = None
        refusal: NotOwner | OwnerAway | None = None
        try:
            for _ in range(_MOST_TRIES):
                try:
                    return await serve()
                except NotOwner as error:
                    refusal = error
                    table_id = error.table_id
                except TableReloading:
                    # The table may be under way to another engine.
                    if not call.table_id or self._ownership.has(call.table_id):
                        raise
                    table_id = call.table_id
                    await self._ownership.settled(table_id)
                    refusal = self._ownership.not_owner(table_id)
                if call.was_forwarded:
                    raise refusal
                owner = await self._owner_of(table_id, asked)
                if owner is None:
                    raise refusal
                if owner.engine == self._ownership.engine:
                    await self._routes.look()  # it was given to us this moment
                    continue
                try:
                    answer: Response = await self._pass_on(call, table_id, owner)
                except OwnerAway as error:
                    if asked is not None and asked.engine == owner.engine:
                        raise
                    refusal = error
                except NotOwner as error:
                    refusal = error
                else:
                    return answer
                asked = owner
            assert refusal is not None, "every try that does not return ends with one"
            raise refusal
        finally:
            # Its traceback leads back to this frame, and so to the answer: a circle that only the
            # collector would find.
            del refusal

    async def _owner_of(self, table_id: str, asked: Member | None) -> Member | None:
        """Who has the table by the board that we know, or by a new one where it was wrong."""
        known = self._ownership.owner_of(table_id) if asked is None else None
        if known is None or known.engine == self._ownership.engine:
            return await self._routes.owner_of(table_id)
        return known

    async def _pass_on(self, call: Call, table_id: str, owner: Member) -> Any:
        """What the owner answers; raises ``NotOwner`` where it says that it is not, or has lost the
        table while it hung, and ``OwnerAway`` where it does not answer.
        """
        channel = self._peers.bare(owner.address)
        asking = asyncio.ensure_future(call.make(channel, self._ownership.engine))
        try:
            await self._while_owned(asking, table_id, owner)
            answer = await asking
        except grpc.aio.AioRpcError as error:
            failure = from_rpc_error(error)
            reason = failure.reason if failure.has_own_reason else failure.code.name
            FORWARDED.labels(reason).inc()
            if failure.reason in _ELSEWHERE:
                raise NotOwner(table_id, owner.engine, owner.address) from error
            if failure.code is grpc.StatusCode.UNAVAILABLE and not failure.has_own_reason:
                raise OwnerAway(
                    f"engine {owner.engine} has table {table_id} and does not answer; if it is "
                    "dead, another one has its tables within seconds: send the same request again"
                ) from error
            await call.refuse(error)
        else:
            FORWARDED.labels("OK").inc()
            return answer
        finally:
            asking.cancel()
            del asking  # the error that it holds leads back to this frame, as above

    async def _while_owned(
        self, asking: "asyncio.Future[Any]", table_id: str, owner: Member
    ) -> None:
        """Return once the owner has answered, or raise ``NotOwner`` once it is not the owner any
        more: one that hangs would keep the caller waiting while another has the table.
        """
        while not (await asyncio.wait([asking], timeout=self._patience_s))[0]:
            known: Member | None = owner
            with suppress(Unavailable, Exhausted):  # nobody knows better
                known = await self._routes.owner_of(table_id)
            if known is None or known.engine != owner.engine:
                FORWARDED.labels("OWNER_LOST").inc()
                raise NotOwner(table_id, "", "")
