"""How clients reach the engine: the one place that knows which calls they use.

Half of the players use ``Act`` and ``WatchTable``, the others ``Play``; both give the bytes of
every message beside the message, so that the bytes can be searched.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey_runtime.errors import from_rpc_error, status_code

_SERVICE: Final = "/okey.api.engine.v1.TableService"
_TIMEOUT_S: Final = 5.0
_NO_ANSWER: Final = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
    }
)
"""Nobody knows what became of the command, or it may be sent again; everything else is final."""

Shown = table_pb2.TableView | engine_pb2.TableUpdate | engine_pb2.StreamEnd
Command = (
    engine_pb2.ActRequest
    | engine_pb2.LeaveSeatRequest
    | engine_pb2.AddNonceRequest
    | engine_pb2.ForfeitRequest
    | engine_pb2.ReturnToSeatRequest
    | engine_pb2.PlayOnRequest
)


class NoAnswer(Exception):
    """What became of the command is not known: send it again under the same id. The text is the
    reason, or the code where there is none.
    """


class Refused(Exception):
    """The engine's last word; the text is its reason."""


class Broken(Exception):
    """The stream ended without a word of the server; the text is the reason or the code."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The row that the command became, and the tile that a draw gave, where the answer says it."""

    seq: int
    drawn: int = 0


class Link(Protocol):
    """One client's way to one table."""

    def follow(self, after_seq: int | None) -> AsyncGenerator[tuple[Shown, bytes], None]:
        """A stream from a cursor on; raises ``Broken`` where it breaks."""
        ...

    async def ask(self, command: Command) -> Answer:
        """Send a command once. Raises ``NoAnswer`` or ``Refused``."""
        ...


class Way:
    """Streams over one channel."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        # Without a deserializer gRPC gives the bytes as they came.
        self.watch: Final[Any] = channel.unary_stream(
            f"{_SERVICE}/WatchTable",
            request_serializer=engine_pb2.WatchTableRequest.SerializeToString,
        )
        self.play: Final[Any] = channel.stream_stream(
            f"{_SERVICE}/Play", request_serializer=engine_pb2.PlayRequest.SerializeToString
        )


class Caller:
    """Calls on channels that many clients share, with one client's token: ``channel`` leads to any
    engine, ``channel_to`` to the one at an address.
    """

    def __init__(
        self,
        channel: grpc.aio.Channel,
        token: str,
        channel_to: Callable[[str], grpc.aio.Channel],
    ) -> None:
        self.metadata: Final = (("authorization", f"Bearer {token}"),)
        self.stub: Final = engine_pb2_grpc.TableServiceStub(channel)
        self._anywhere = Way(channel)
        self._channel_to = channel_to

    def way(self, address: str) -> Way:
        """The streams of the engine there; of any engine where no address is known."""
        return Way(self._channel_to(address)) if address else self._anywhere

    async def unary(self, method: Callable[..., Awaitable[Any]], request: Message) -> Any:
        """Send a request once. Raises ``NoAnswer`` or ``Refused``."""
        try:
            return await method(request, timeout=_TIMEOUT_S, metadata=self.metadata)
        except grpc.aio.AioRpcError as error:
            if error.code() in _NO_ANSWER:
                raise NoAnswer(_why(error)) from error
            raise Refused(_why(error)) from error


def _why(error: grpc.aio.AioRpcError) -> str:
    """The engine's reason; in small letters the code, where the call broke without one."""
    return from_rpc_error(error).reason or error.code().name.lower()


class UnaryLink:
    """``Act`` and its sisters for commands, ``WatchTable`` for what happens."""

    def __init__(self, caller: Caller, table_id: str) -> None:
        self._caller = caller
        self._table_id = table_id
        self._address = ""
        stub = caller.stub
        self._methods: dict[type[Command], Callable[..., Awaitable[Any]]] = {
            engine_pb2.ActRequest: stub.Act,
            engine_pb2.LeaveSeatRequest: stub.LeaveSeat,
            engine_pb2.AddNonceRequest: stub.AddNonce,
            engine_pb2.ForfeitRequest: stub.Forfeit,
            engine_pb2.ReturnToSeatRequest: stub.ReturnToSeat,
            engine_pb2.PlayOnRequest: stub.PlayOn,
        }

    async def follow(self, after_seq: int | None) -> AsyncGenerator[tuple[Shown, bytes], None]:
        """WatchTable from a cursor on."""
        request = engine_pb2.WatchTableRequest(table_id=self._table_id, after_seq=after_seq)
        way, self._address = self._caller.way(self._address), ""
        call = way.watch(request, metadata=self._caller.metadata)
        try:
            async for wire in call:
                message = engine_pb2.WatchTableResponse.FromString(wire)
                self._address = message.end.address
                yield getattr(message, message.WhichOneof("message") or ""), wire
        except grpc.aio.AioRpcError as error:
            raise Broken(_why(error)) from error
        finally:
            call.cancel()

    async def ask(self, command: Command) -> Answer:
        """The command's own unary call."""
        answer = await self._caller.unary(self._methods[type(command)], command)
        return Answer(answer.seq, getattr(answer, "drawn", 0))


class PlayLink:
    """One ``Play`` stream for everything. While there is none, commands go the unary way, as they
    may: the same command under the same id counts once.
    """

    def __init__(self, caller: Caller, table_id: str) -> None:
        self._caller = caller
        self._table_id = table_id
        self._unary = UnaryLink(caller, table_id)
        self._address = ""
        self._call: Any = None
        self._waiting: dict[str, asyncio.Future[engine_pb2.CommandResult | None]] = {}

    async def follow(self, after_seq: int | None) -> AsyncGenerator[tuple[Shown, bytes], None]:
        """Attach from a cursor on; results of commands go to whoever asked."""
        way, self._address = self._caller.way(self._address), ""
        call = way.play(metadata=self._caller.metadata)
        attach = engine_pb2.Attach(table_id=self._table_id, after_seq=after_seq)
        try:
            await call.write(engine_pb2.PlayRequest(attach=attach))
            self._call = call
            async for wire in call:
                message = engine_pb2.PlayResponse.FromString(wire)
                case = message.WhichOneof("message")
                if case == "result":
                    self._tell(message.result.request_id, message.result)
                else:
                    self._address = message.end.address
                    yield getattr(message, case or ""), wire
        except grpc.aio.AioRpcError as error:
            raise Broken(_why(error)) from error
        except asyncio.InvalidStateError as error:
            # What a write on a call that has just ended says.
            raise Broken("ENDED") from error
        except asyncio.CancelledError:
            # Also what gRPC raises for a call that ``ask`` hung up, though nobody cancels us.
            if _is_cancelled():
                raise
            raise Broken("SILENCE") from None
        finally:
            self._call = None
            call.cancel()
            for request_id in list(self._waiting):
                self._tell(request_id, None)

    async def ask(self, command: Command) -> Answer:
        """Write the command to the stream and wait for its result."""
        call = self._call
        if call is None:
            return await self._unary.ask(command)
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[command.request_id] = waiting
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                await call.write(_play_request(command))
                result = await waiting
        except TimeoutError as error:
            # Whoever is silent may have lost the table to another engine: the next stream tells.
            call.cancel()
            raise NoAnswer("silence") from error
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
            raise NoAnswer(type(error).__name__) from error
        except asyncio.CancelledError:
            # Also what gRPC raises for a call that was hung up, though nobody cancels this task.
            if _is_cancelled():
                raise
            raise NoAnswer("the stream was hung up") from None
        finally:
            del self._waiting[command.request_id]
        if result is None:
            raise NoAnswer("the stream is over")
        if not result.HasField("error"):
            return Answer(result.seq)
        if status_code(result.error) in _NO_ANSWER:
            raise NoAnswer(_reason(result.error))
        raise Refused(_reason(result.error))

    def _tell(self, request_id: str, result: engine_pb2.CommandResult | None) -> None:
        """None where the stream is over without one."""
        waiting = self._waiting.get(request_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(result)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _reason(status: status_pb2.Status) -> str:
    info = error_details_pb2.ErrorInfo()
    reasons = [info.reason for detail in status.details if detail.Unpack(info)]
    return reasons[0] if reasons else status_code(status).name.lower()


def _play_request(command: Command) -> engine_pb2.PlayRequest:
    match command:
        case engine_pb2.ActRequest():
            return engine_pb2.PlayRequest(act=command)
        case engine_pb2.LeaveSeatRequest():
            return engine_pb2.PlayRequest(leave_seat=command)
        case engine_pb2.AddNonceRequest():
            return engine_pb2.PlayRequest(add_nonce=command)
        case engine_pb2.ForfeitRequest():
            return engine_pb2.PlayRequest(forfeit=command)
        case engine_pb2.ReturnToSeatRequest():
            return engine_pb2.PlayRequest(return_to_seat=command)
        case _:
            return engine_pb2.PlayRequest(play_on=command)
