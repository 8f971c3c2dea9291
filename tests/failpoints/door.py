"""The wallet behind a gRPC door that stays: it falls and comes back on the same database."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Final

import grpc

from okey.api.wallet.v1 import wallet_pb2
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey_runtime.arriving import Arrivals
from okey_runtime.channel import open_channel
from okey_runtime.clock import Clock
from okey_runtime.database import Database
from okey_runtime.identity import Identity, Role
from okey_runtime.interceptors import CallInterceptor
from okey_runtime.limits import CallLimits, Gate
from okey_runtime.revocation import Revocations
from okey_runtime.served import Callers
from okey_runtime.service_token import fixed_token
from services.wallet import wire
from services.wallet.books import House
from services.wallet.command import CloseTable, Command, VoidHold, VoidMatch
from services.wallet.servicer import ACCESS, SERVICE
from services.wallet.wallet import Wallet

WELCOME: Final = 10_000
HOUSE: Final = House(
    rule_sets={DEFAULT_RULE_SET.version: DEFAULT_RULE_SET},
    current_version=DEFAULT_RULE_SET.version,
    welcome_chips=WELCOME,
    approval_limit_chips=None,
)
COMMANDS: Final[Mapping[str, Callable[[Any], Command]]] = {
    "HoldStake": wire.hold_from,
    "VoidHold": lambda request: VoidHold(hold_id=request.hold_id),
    "StartMatch": wire.start_from,
    "ForfeitSeat": wire.forfeit_from,
    "SettleMatch": wire.settle_from,
    "VoidMatch": lambda request: VoidMatch(match_id=request.match_id),
    "CloseTable": lambda request: CloseTable(table_id=request.table_id),
}


LIMITS: Final = CallLimits(per_s=1_000, burst=1_000, streams=100, calls=1_000, call_ms=60_000)


class Everybody:
    """Takes every token for the engine's."""

    def verify(self, token: str) -> Identity:
        return Identity("engine", frozenset({Role.ENGINE}), token, 1 << 60)


class WalletDoor:
    """Answers UNAVAILABLE while the wallet is down, and nothing while ``is_open`` is not set.

    ``acknowledged`` are the journals that callers were told of, by key; 0 for none. ``cancelled``
    is set once a handler is cut off by its caller's deadline.
    """

    def __init__(self, url: str, clock: Clock) -> None:
        self.acknowledged: Final[dict[str, int]] = {}
        self.is_open: Final = asyncio.Event()
        self.cancelled: Final = asyncio.Event()
        self.address = ""
        self.database = Database(url)
        self._url = url
        self._clock = clock
        self._wallet: Wallet | None = None
        self._stack = AsyncExitStack()
        self.is_open.set()

    async def start(self) -> grpc.aio.Channel:
        """Serve on a free loopback port; a channel to it."""
        server = grpc.aio.server(
            interceptors=[
                CallInterceptor(
                    Callers(Everybody()),
                    ACCESS,
                    Gate(LIMITS, self._clock),
                    Arrivals(60_000),
                    Revocations(self._clock),
                )
            ]
        )
        handlers = {name: self._handler(name) for name in COMMANDS}
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        self._stack.push_async_callback(server.stop, None)
        self._boot()
        self.address = f"127.0.0.1:{port}"
        channel = open_channel(self.address, token=fixed_token("engine"))
        return await self._stack.enter_async_context(channel)

    async def stop(self) -> None:
        await self._stack.aclose()
        await self.database.close()

    async def fall(self) -> None:
        """Drop the wallet; whatever it was doing is never answered."""
        self._wallet = None
        await self.database.close()

    def rise(self) -> None:
        """A new wallet on the same database."""
        self.database = Database(self._url)
        self._boot()

    def _boot(self) -> None:
        self._wallet = Wallet(self.database, HOUSE, self._clock)

    def _handler(self, name: str) -> Any:
        response = getattr(wallet_pb2, f"{name}Response")

        async def call(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            await self.is_open.wait()
            wallet = self._wallet
            if wallet is None:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "the wallet is down")
            command = COMMANDS[name](request)
            try:
                receipt = await wallet.execute(request.idempotency_key, command)
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            if wallet is not self._wallet:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "the wallet has gone down")
            self.acknowledged[request.idempotency_key] = receipt.journal_id or 0
            return response(receipt=wire.receipt_to(receipt))

        return grpc.unary_unary_rpc_method_handler(
            call,
            request_deserializer=getattr(wallet_pb2, f"{name}Request").FromString,
            response_serializer=response.SerializeToString,
        )
