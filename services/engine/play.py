"""The Play stream: attach first, then commands up, results and updates down."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final

from google.protobuf.message import Message

from okey.api.engine.v1 import engine_pb2
from okey.errors import InvalidInput, OkeyError
from okey_runtime.auth import TokenExpired
from okey_runtime.clock import Clock
from okey_runtime.identity import Identity
from okey_runtime.interceptors import checked_message
from okey_runtime.revocation import Revocations
from okey_runtime.unforeseen import status_for
from okey_runtime.validation import keeps_rules
from services.engine.actor import TableActor
from services.engine.attaching import Attaching
from services.engine.carrying import Carrying
from services.engine.errors import NotOwner, NotThisPlayer, TableReloading
from services.engine.following import From, elsewhere, follow, watching
from services.engine.forwarding import Context, Forwarding
from services.engine.invites import Knock
from services.engine.player_commands import Numbered, PlayerCommands
from services.engine.sessions import Sessions
from services.engine.shedding import Shedding
from services.engine.tables import Tables
from services.engine.watching import Answered, StreamEndReason, Watcher

MOST_IN_FLIGHT: Final = 16
ATTACH_WITHIN_S: Final = 10.0

_NO_REASON: Final = StreamEndReason.STREAM_END_REASON_UNSPECIFIED

Begun = asyncio.Future[Numbered]
"""A command under way."""


class NotAttached(InvalidInput):
    """The first message of a Play stream, and only that one, is ``attach``."""

    reason = "ATTACH_FIRST"


class OtherTable(InvalidInput):
    """A Play stream is for the table that it was attached to."""

    reason = "OTHER_TABLE"


class PlayStreams:
    """Serves Play."""

    def __init__(
        self,
        tables: Tables,
        attaching: Attaching,
        commands: PlayerCommands,
        forwarding: Forwarding,
        clock: Clock,
        shedding: Shedding,
        revocations: Revocations,
        sessions: Sessions | None,
    ) -> None:
        """``sessions`` is None where a player may have several."""
        self._revocations = revocations
        self._sessions = sessions
        self._attaching = attaching
        self._shedding = shedding
        self._tables = tables
        self._commands = commands
        self._forwarding = forwarding
        self._clock = clock

    async def serve(
        self, requests: AsyncIterator[object], identity: Identity, context: Context
    ) -> None:
        """Write the stream's answers; it ends when the caller says no more and has every answer, or
        with a ``StreamEnd``.

        Raises:
            OkeyError: the first message is no ``attach``, or does not come in time, or the table
                cannot be attached to.
        """
        with self._shedding.stream():
            attach = await self._attached(requests, identity)
            self._revocations.refuse_ended(identity)
            after = attach.after_seq if attach.HasField("after_seq") else None
            try:
                knock = Knock.of(identity, attach.invite)
                actor = await self._attaching.let_in(attach.table_id, knock)
            except NotOwner as error:
                end = elsewhere(error, after)
                await context.write(engine_pb2.PlayResponse(end=end).SerializeToString())
                return
            if self._sessions is not None:
                await self._sessions.enter(identity)
            start = From(after, attach.with_view)
            with watching(actor, identity, start, self._revocations) as watcher:
                carrying = Carrying(
                    self._tables, self._commands, self._forwarding, identity.player, context
                )
                commands = StreamCommands(self._commands, carrying, actor, identity.player, watcher)
                reading = asyncio.create_task(commands.read(requests))
                try:
                    end = await follow(actor, watcher, start, self._clock, context.write)
                    with watcher.waited_for():
                        rest = await commands.rest()
                    for late in rest:
                        await context.write(late)
                    if end.reason != _NO_REASON:
                        await context.write(engine_pb2.PlayResponse(end=end).SerializeToString())
                finally:
                    reading.cancel()
                    carrying.close()

    async def _attached(
        self, requests: AsyncIterator[object], identity: Identity
    ) -> engine_pb2.Attach:
        """The first message, while the caller's token holds: it is proved at the stream's start."""
        left_s = max(0, identity.expires_ms - self._clock.now_ms()) / 1000
        try:
            async with asyncio.timeout(min(left_s, ATTACH_WITHIN_S)):
                return _attach(await anext(requests, None))
        except TimeoutError:
            if left_s < ATTACH_WITHIN_S:
                raise TokenExpired("the token has ended; come back with a new one") from None
            raise NotAttached(
                f"no attach came within {ATTACH_WITHIN_S:g} s; send it with the table first"
            ) from None


class StreamCommands:
    """The commands of one stream: begun in the order in which they come, each answered once it is
    committed. So many may be under way; more are not read before one is answered.
    """

    def __init__(
        self,
        commands: PlayerCommands,
        carrying: Carrying,
        actor: TableActor,
        player: str,
        watcher: Watcher,
    ) -> None:
        self._commands = commands
        self._carrying = carrying
        self._actor = actor
        self._player = player
        self._watcher = watcher
        self._in_flight = 0
        self._answered: asyncio.Future[None] | None = None
        self._late: list[bytes] = []
        self._loop = asyncio.get_running_loop()

    async def rest(self) -> list[bytes]:
        """The answers to commands that waited for the table when the stream was to end already."""
        await self._carrying.over()
        return self._late

    async def read(self, requests: AsyncIterator[object]) -> None:
        """Begin every command; where the caller says no more, end the stream after the answers."""
        async for request in requests:
            await self._until_fewer(MOST_IN_FLIGHT)
            if self._watcher.has_ended:
                return  # as with the caller's token
            self._in_flight += 1
            self._begin(request)
        await self._until_fewer(1)
        self._watcher.end(_NO_REASON)

    async def _until_fewer(self, commands: int) -> None:
        while self._in_flight >= commands:
            self._answered = self._loop.create_future()
            await self._answered

    def _written(self) -> None:
        """An answer was handed to the caller."""
        self._in_flight -= 1
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(None)

    def _begin(self, request: object) -> None:
        request_id = _request_id(request)
        try:
            checked = _checked(request)
            message = _command(checked)
            self._refuse_if_not_ours(message)
            carry = self._carrier_of(message, checked.timeout_ms)
            if self._carrying.is_busy:
                self._answer_with(request_id, carry())
                return
            begun = self._commands.begin(self._actor, self._player, message, checked.timeout_ms)
        except OkeyError as error:
            self._tell(_refusal(request_id, error))
        else:
            begun.add_done_callback(partial(self._answer_or_carry, request_id, carry))

    def _carrier_of(self, message: Message, timeout_ms: int) -> Callable[[], Begun]:
        """Has the command, which came now, wait for its table."""
        within_ms = self._commands.within_ms(timeout_ms)
        until_s = self._loop.time() + within_ms / 1000
        table_id = self._actor.table_id
        return lambda: self._carrying.carry(table_id, message, within_ms, until_s)

    def _answer_or_carry(self, request_id: str, carry: Callable[[], Begun], begun: Begun) -> None:
        if not begun.cancelled() and isinstance(begun.exception(), TableReloading):
            self._answer_with(request_id, carry())
        else:
            self._answer(request_id, begun)

    def _answer_with(self, request_id: str, begun: Begun) -> None:
        begun.add_done_callback(partial(self._answer, request_id))

    def _refuse_if_not_ours(self, message: Message) -> None:
        table_id = self._actor.table_id
        if getattr(message, "table_id", "") != table_id:
            raise OtherTable(f"this stream is attached to table {table_id}: open another one")
        if isinstance(message, engine_pb2.LeaveSeatRequest) and message.player not in (
            "",
            self._player,
        ):
            raise NotThisPlayer(
                f"{self._player} cannot act for {message.player}: leave player empty"
            )

    def _answer(self, request_id: str, begun: Begun) -> None:
        if begun.cancelled():
            return
        error = begun.exception()
        self._tell(
            engine_pb2.CommandResult(request_id=request_id, seq=begun.result().seq)
            if error is None
            else _refusal(request_id, error)
        )

    def _tell(self, result: engine_pb2.CommandResult) -> None:
        """Answer; once that was handed to the caller another command may come."""
        wire = engine_pb2.PlayResponse(result=result).SerializeToString()
        if self._watcher.has_ended:
            self._late.append(wire)
        else:
            self._watcher.answer(Answered(wire, self._written))


def _attach(request: object) -> engine_pb2.Attach:
    if request is not None:
        message = checked_message(request)
        if message.WhichOneof("message") == "attach":
            attach: engine_pb2.Attach = message.attach
            return attach
    raise NotAttached("send attach with the table first, then commands")


def _checked(request: object) -> engine_pb2.PlayRequest:
    """A message of the stream, if it keeps the shape rules.

    Beside its command it has one field only: without that the command alone is looked at, in half
    the time.
    """
    if isinstance(request, engine_pb2.PlayRequest) and not request.timeout_ms:
        case = request.WhichOneof("message")
        if case is not None and keeps_rules(getattr(request, case)):
            return request
    checked: engine_pb2.PlayRequest = checked_message(request)
    return checked


def _command(request: engine_pb2.PlayRequest) -> Message:
    case = request.WhichOneof("message")
    if case is None or case == "attach":
        raise NotAttached("this stream is attached already: open another one for another table")
    message: Message = getattr(request, case)
    return message


def _request_id(request: object) -> str:
    """The id by which the caller knows the command, if it can be read at all."""
    if not isinstance(request, engine_pb2.PlayRequest):
        return ""
    case = request.WhichOneof("message")
    return getattr(getattr(request, case), "request_id", "") if case else ""


def _refusal(request_id: str, error: BaseException) -> engine_pb2.CommandResult:
    return engine_pb2.CommandResult(request_id=request_id, error=status_for(error))
