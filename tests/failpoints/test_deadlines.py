"""A caller's deadline fires while its call stands at a failpoint: never a half-done transaction."""

import asyncio
import threading
from collections.abc import AsyncIterator
from itertools import count
from typing import Any, Final

import grpc
import pytest
from sqlalchemy.util import await_only

from okey.api.common.v1 import common_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey_runtime import failpoints
from okey_runtime.clock import VirtualClock
from okey_runtime.config import Environment
from services.wallet.servicer import SERVICE
from services.wallet.wallet import Wallet
from tests.failpoints.books import answers, booked
from tests.failpoints.door import COMMANDS, HOUSE, WELCOME, WalletDoor
from tests.failpoints.runs import Files, fresh_on
from tests.fixtures.postgres import PostgresServer

DEADLINES_S: Final = (0.15, 0.6, 2.4, 9.6)
PATIENCE_S: Final = 20.0
_numbers: Final = count(1)
WON: Final = wallet_pb2.MatchOutcome(
    canak_win=wallet_pb2.CanakWin(seat=0, finish=common_pb2.FINISH_KIND_NORMAL)
)
IN_TRANSACTION: Final = (
    *("wallet.begun", "wallet.key_checked", "wallet.journal_inserted", "wallet.before_commit"),
)


class Requests:
    """What a table of its own asks, with keys, matches and players that no other test uses."""

    def __init__(self) -> None:
        self.table_id = f"{next(_numbers):026d}"
        self.match_id = f"{self.table_id}-1"

    def hold(self, seat: int, stake: int = 100) -> wallet_pb2.HoldStakeRequest:
        return wallet_pb2.HoldStakeRequest(
            idempotency_key=f"{self.table_id}-hold-{seat}",
            hold_id=f"{self.match_id}-{seat}-1",
            table_id=self.table_id,
            match_id=self.match_id,
            player_id=f"{self.table_id}-{seat}",
            stake=stake,
            rules_version=DEFAULT_RULE_SET.version,
        )

    def start(self) -> wallet_pb2.StartMatchRequest:
        return wallet_pb2.StartMatchRequest(
            idempotency_key=f"{self.table_id}-start",
            table_id=self.table_id,
            match_id=self.match_id,
            variant=common_pb2.VARIANT_CANAK,
            mode=common_pb2.MODE_NORMAL,
            stake=100,
            rules_version=DEFAULT_RULE_SET.version,
            seats=[wallet_pb2.StakedSeat(hold_id=f"{self.match_id}-{seat}-1") for seat in (0, 1)],
        )

    def until(self, operation: str) -> tuple[Any, ...]:
        """What is asked before, and last a request of that operation."""
        key = f"{self.table_id}-it"
        started = (self.hold(0), self.hold(1), self.start())
        settle = wallet_pb2.SettleMatchRequest(
            idempotency_key=key, match_id=self.match_id, outcome=WON
        )
        match operation:
            case "HoldStake":
                return (self.hold(0),)
            case "declined HoldStake":
                return (self.hold(0, WELCOME + 1),)
            case "VoidHold":
                hold_id = f"{self.match_id}-0-1"
                void = wallet_pb2.VoidHoldRequest(idempotency_key=key, hold_id=hold_id)
                return (self.hold(0), void)
            case "StartMatch":
                return started
            case "ForfeitSeat":
                cause = wallet_pb2.ForfeitCause.FORFEIT_CAUSE_GAVE_UP
                forfeit = wallet_pb2.ForfeitSeatRequest(
                    idempotency_key=key, match_id=self.match_id, seat=1, cause=cause
                )
                return (*started, forfeit)
            case "SettleMatch":
                return (*started, settle)
            case "VoidMatch":
                voided = wallet_pb2.VoidMatchRequest(idempotency_key=key, match_id=self.match_id)
                return (*started, voided)
            case _:
                close = wallet_pb2.CloseTableRequest(
                    idempotency_key=f"{key}-close", table_id=self.table_id
                )
                return (*started, settle, close)


@pytest.fixture(scope="session")
async def postgres_wallet(postgres_server: PostgresServer) -> str:
    """A migrated database for all tests here."""
    return (await fresh_on(postgres_server)).wallet


@pytest.fixture(params=["sqlite", "postgresql"])
def wallet_url(request: pytest.FixtureRequest, files: Files) -> str:
    """A migrated database of each kind."""
    if request.param == "sqlite":
        return files.fresh().wallet
    url: str = request.getfixturevalue("postgres_wallet")
    return url


@pytest.fixture
async def door(wallet_url: str) -> AsyncIterator[WalletDoor]:
    """A served wallet."""
    door = WalletDoor(wallet_url, VirtualClock())
    await door.start()
    yield door
    await door.stop()


class Client:
    """A caller on threads of its own, so that the wallet's loop may stand still meanwhile."""

    def __init__(self, door: WalletDoor) -> None:
        self._channel = grpc.insecure_channel(door.address)
        self.expired: Final = threading.Event()

    async def ask(self, request: Any, timeout_s: float = PATIENCE_S) -> grpc.StatusCode:
        """Make the call; how it ended."""
        return await asyncio.to_thread(self._ask, request, timeout_s)

    def close(self) -> None:
        self._channel.close()

    def _ask(self, request: Any, timeout_s: float) -> grpc.StatusCode:
        name = type(request).__name__.removesuffix("Request")
        method = self._channel.unary_unary(
            f"/{SERVICE}/{name}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=getattr(wallet_pb2, f"{name}Response").FromString,
        )
        token = (("authorization", "Bearer engine"),)
        call = method.future(request, timeout=timeout_s, metadata=token)
        call.exception()  # waits for the end
        code: grpc.StatusCode = call.code()
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            self.expired.set()
        return code


class Standstill:
    """At the named failpoint, wait until the deadline has fired and the handler is cut off."""

    def __init__(self, point: str, door: WalletDoor, client: Client) -> None:
        self.has_been_there = False
        self._point = point
        self._door = door
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def strike(self, point: str, _: object) -> None:
        if point != self._point or self.has_been_there:
            return
        self.has_been_there = True
        if point == "wallet.committed":
            # In the handler itself, which nothing can cut off where it does not wait.
            assert self._client.expired.wait(PATIENCE_S)
        elif threading.get_ident() == self._thread:
            await_only(self._cut_off())
        else:
            asyncio.run_coroutine_threadsafe(self._cut_off(), self._loop).result()

    async def _cut_off(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self._door.cancelled.wait()


async def expire_at(door: WalletDoor, point: str, operation: str) -> Requests:
    """Ask for everything up to the operation, whose deadline fires at the point; then check what is
    booked. On a busy machine a short deadline may fire before the point: then with a longer one.
    """
    client = Client(door)
    for deadline_s in DEADLINES_S:
        asked = Requests()
        *before, last = asked.until(operation)
        for request in before:
            assert await client.ask(request) is grpc.StatusCode.OK
        standstill = Standstill(point, door, client)
        with failpoints.armed(Environment.TEST, standstill.strike):
            code = await client.ask(last, deadline_s)
            if point != "wallet.committed":
                async with asyncio.timeout(PATIENCE_S):
                    await door.cancelled.wait()
            await door.fall()
        door.rise()
        assert code is grpc.StatusCode.DEADLINE_EXCEEDED
        if standstill.has_been_there:
            break
        door.cancelled.clear()
        client.expired.clear()
    assert standstill.has_been_there
    await require_whole(door, client, last)
    client.close()
    return asked


async def require_whole(door: WalletDoor, client: Client, last: Any) -> None:
    """What was begun has run to its end: the answer stands under its key, with all that it booked.
    The same request again gets that answer, and nothing more is booked.
    """
    assert last.idempotency_key in await answers(door.database)
    journals = await door.database.read(booked)
    assert (await Wallet(door.database, HOUSE, VirtualClock()).audit()).findings == ()
    again = await client.ask(last)
    assert again is not grpc.StatusCode.DEADLINE_EXCEEDED
    assert await door.database.read(booked) == journals


@pytest.mark.parametrize("point", [*IN_TRANSACTION, "wallet.committed"])
async def test_a_deadline_at_any_point_of_a_settlement_leaves_nothing_half_done(
    door: WalletDoor, point: str
) -> None:
    """M5: the handler is cut off, its transaction is not; the same key gets its answer."""
    asked = await expire_at(door, point, "SettleMatch")
    assert await kinds_of(door, asked.match_id) == ["hold", "hold", "settle", "start"]


async def test_a_deadline_while_a_decline_is_kept(door: WalletDoor) -> None:
    """M5: a decline is final for its key, also where nobody waits for it any more."""
    asked = await expire_at(door, "wallet.declining", "declined HoldStake")
    assert await kinds_of(door, asked.match_id) == []


@pytest.mark.long
@pytest.mark.parametrize("point", [*IN_TRANSACTION, "wallet.committed"])
@pytest.mark.parametrize("operation", COMMANDS)
async def test_a_deadline_at_any_point_of_any_operation(
    door: WalletDoor, operation: str, point: str
) -> None:
    """M5: the same for every money event."""
    await expire_at(door, point, operation)


async def kinds_of(door: WalletDoor, match_id: str) -> list[str]:
    """What is booked for a match."""
    journals = await door.database.read(booked)
    return [journal.kind for journal in journals if journal.match_id == match_id]
