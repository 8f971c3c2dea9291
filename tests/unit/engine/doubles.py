"""The services that the engine calls, as small gRPC servers that do what a test says."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from okey.api.rating.v1 import rating_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey.table import commands as c
from okey_runtime.errors import DOMAIN, STATUS_DETAILS_KEY
from services.engine.ai import NoAnswer, Question

Context = grpc.aio.ServicerContext[Any, Any]


class Refusal(Exception):
    """What a double shall answer instead of OK."""

    def __init__(
        self, code: grpc.StatusCode, reason: str = "", metadata: dict[str, str] | None = None
    ) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.metadata = metadata or {}


AWAY = Refusal(grpc.StatusCode.UNAVAILABLE)


def declined(reason: str, **metadata: str) -> Refusal:
    return Refusal(grpc.StatusCode.FAILED_PRECONDITION, reason, metadata)


class Script:
    """Requests as they came, and the answers to the next ones: OK unless something is planned."""

    def __init__(self) -> None:
        self.calls: list[Message] = []
        self.plan: list[Refusal | None] = []
        self.always: Refusal | None = None
        self.called = asyncio.Condition()

    @property
    def names(self) -> list[str]:
        return [type(call).__name__.removesuffix("Request") for call in self.calls]

    async def answer(self, request: Message, context: Context) -> None:
        async with self.called:
            self.calls.append(request)
            self.called.notify_all()
        refusal = self.plan.pop(0) if self.plan else self.always
        if refusal is None:
            return
        status = status_pb2.Status(code=refusal.code.value[0], message="as the test says")
        if refusal.reason:
            status.details.add().Pack(
                error_details_pb2.ErrorInfo(
                    reason=refusal.reason, domain=DOMAIN, metadata=refusal.metadata
                )
            )
        details = ((STATUS_DETAILS_KEY, status.SerializeToString()),)
        await context.abort(refusal.code, status.message, details)

    async def until(self, is_enough: Callable[["Script"], bool]) -> None:
        """Return once the calls so far are enough."""
        async with asyncio.timeout(10), self.called:
            await self.called.wait_for(lambda: is_enough(self))


class Double:
    """A service of unary methods that answer with empty messages, as the script says."""

    def __init__(self, service: str, messages: ModuleType, methods: tuple[str, ...]) -> None:
        self.script = Script()
        self._service = service
        self._messages = messages
        self._methods = methods

    def add_to(self, server: grpc.aio.Server) -> None:
        handlers = {method: self._handler(method) for method in self._methods}
        server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(self._service, handlers)]
        )

    def _handler(self, method: str) -> Any:
        response: Message = getattr(self._messages, f"{method}Response")()

        async def answer(request: Message, context: Context) -> Message:
            await self.script.answer(request, context)
            return response

        return grpc.unary_unary_rpc_method_handler(
            answer,
            request_deserializer=getattr(self._messages, f"{method}Request").FromString,
            response_serializer=type(response).SerializeToString,
        )


def wallet_double() -> Double:
    methods = ("HoldStake", "VoidHold", "StartMatch", "SettleMatch", "VoidMatch", "ForfeitSeat")
    return Double("okey.api.wallet.v1.WalletService", wallet_pb2, (*methods, "CloseTable"))


def rating_double() -> Double:
    methods = ("RecordMatch", "RecordForfeit")
    return Double("okey.api.rating.v1.RatingService", rating_pb2, methods)


class BotDouble:
    """Answers with what ``choose`` gives; None is no answer."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.reply: Callable[[Question], c.Action | None] = lambda _: None

    async def choose(self, question: Question, timeout_s: float) -> c.Action:
        self.questions.append(question)
        action = self.reply(question)
        if action is None:
            raise NoAnswer("as the test says")
        return action


@asynccontextmanager
async def served(double: Double) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to the double on a free loopback port."""
    server = grpc.aio.server()
    double.add_to(server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    await server.stop(None)
