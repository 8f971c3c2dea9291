"""A tiny real service: one method of each kind, which answers or fails as it is asked to."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from buf.validate import validate_pb2
from okey.errors import OkeyError, Refused
from okey_runtime.aborting import abort
from okey_runtime.access import AccessTable
from okey_runtime.config import ServiceSettings
from okey_runtime.identity import Role, current_identity
from okey_runtime.interceptors import checked_message, validates_itself
from okey_runtime.server import ServiceServer

SERVICE = "okey.test.EchoService"
LISTED = ("Unary", "ServerStream", "ClientStream", "Bidi", "Writer", "Lenient")
UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI, WRITER, LENIENT, UNLISTED, UNSERVED = (
    f"/{SERVICE}/{name}" for name in (*LISTED, "Unlisted", "Unserved")
)


def _ask_class() -> Any:
    """A message of ``string what`` and ``int64 stake``, which must be 50 or more."""
    file = descriptor_pb2.FileDescriptorProto(
        name="okey/test/echo.proto",
        package="okey.test",
        syntax="proto3",
        dependency=["buf/validate/validate.proto"],
    )
    message = file.message_type.add(name="Ask")
    what = message.field.add(name="what", number=1, type=9, label=1)
    what.options.Extensions[validate_pb2.field].string.max_len = 500
    stake = message.field.add(name="stake", number=2, type=3, label=1)
    stake.options.Extensions[validate_pb2.field].int64.gte = 50
    service = file.service.add(name="EchoService")
    for name in (*LISTED, "Unlisted"):
        service.method.add(name=name, input_type=".okey.test.Ask", output_type=".okey.test.Ask")
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("okey.test.Ask"))


Ask = _ask_class()


def ask(what: str = "echo", stake: int = 100) -> Any:
    return Ask(what=what, stake=stake)


class EchoApp:
    """Answers each message with the caller's subject; ``log`` notes what happened to the calls."""

    services = (SERVICE,)
    access = AccessTable.of(SERVICE, {name: {Role.PLAYER, Role.ENGINE} for name in LISTED})

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.log: list[str] = []
        self.entered = asyncio.Event()
        self.draining = asyncio.Event()

    async def start(self, host: ServiceServer) -> None:
        self.log.append("started")
        self.register(host.grpc)

    def register(self, server: grpc.aio.Server) -> None:
        kinds = {
            "Unary": (grpc.unary_unary_rpc_method_handler, self._unary),
            "Unlisted": (grpc.unary_unary_rpc_method_handler, self._unary),
            "ServerStream": (grpc.unary_stream_rpc_method_handler, self._server_stream),
            "Writer": (grpc.unary_stream_rpc_method_handler, self._writer),
            "ClientStream": (grpc.stream_unary_rpc_method_handler, self._client_stream),
            "Bidi": (grpc.stream_stream_rpc_method_handler, self._bidi),
            "Lenient": (grpc.stream_stream_rpc_method_handler, self._lenient),
        }
        handlers = {
            name: make(
                behaviour,
                request_deserializer=Ask.FromString,
                response_serializer=Ask.SerializeToString,
            )
            for name, (make, behaviour) in kinds.items()
        }
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])

    async def drain(self) -> None:
        self.log.append("drained")
        self.draining.set()

    async def close(self) -> None:
        self.log.append("closed")

    async def _unary(self, request: Any, context: Any) -> Any:
        await self._do(request.what, context)
        return ask(current_identity().subject)

    async def _server_stream(self, request: Any, context: Any) -> AsyncIterator[Any]:
        yield ask(current_identity().subject)
        await self._do(request.what, context)
        yield ask("last")

    async def _writer(self, request: Any, context: Any) -> None:
        await context.write(ask(current_identity().subject))
        await self._do(request.what, context)
        await context.write(ask("last"))

    async def _client_stream(self, requests: Any, context: Any) -> Any:
        async for request in requests:
            await self._do(request.what, context)
        return ask(current_identity().subject)

    async def _bidi(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            await self._do(request.what, context)
            yield ask(current_identity().subject)

    @validates_itself
    async def _lenient(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        """Answers what is wrong with a message, in bytes; goes on."""
        async for request in requests:
            try:
                answer = ask(checked_message(request).what)
            except OkeyError as error:
                answer = ask(error.reason)
            yield answer.SerializeToString()

    async def _do(self, what: str, context: Any) -> None:
        self.entered.set()
        if what == "refuse":
            raise Refused("the rule says no: ask for something else")
        if what == "break":
            raise RuntimeError("hidden text")
        if what == "cancel":
            raise asyncio.CancelledError("of something else")
        if what == "abort":
            await context.abort(grpc.StatusCode.ABORTED, "own words")
        if what == "wait":
            try:
                await self.draining.wait()
            except asyncio.CancelledError:
                self.log.append("cancelled")
                raise
        if what in ("refuse late", "write late", "abort late"):
            await self._after_the_caller(what, context)

    async def _after_the_caller(self, what: str, context: Any) -> None:
        """Wait until the caller has gone, and answer all the same."""
        with suppress(asyncio.CancelledError):
            await self.draining.wait()
        self.log.append("gone")
        if what == "write late":
            await context.write(ask("to nobody"))
        if what == "abort late":
            await abort(context, grpc.StatusCode.ABORTED, "to nobody", ())
        raise Refused("to nobody")


def methods(channel: grpc.aio.Channel) -> dict[str, Any]:
    """The client's side of every method."""
    codec = {"request_serializer": Ask.SerializeToString, "response_deserializer": Ask.FromString}
    kinds: Sequence[tuple[str, Any]] = (
        (UNARY, channel.unary_unary),
        (UNLISTED, channel.unary_unary),
        (UNSERVED, channel.unary_unary),
        (SERVER_STREAM, channel.unary_stream),
        (WRITER, channel.unary_stream),
        (CLIENT_STREAM, channel.stream_unary),
        (BIDI, channel.stream_stream),
        (LENIENT, channel.stream_stream),
    )
    return {method: make(method, **codec) for method, make in kinds}
