"""What people ask of a table, from message to command and back; Act and Play go the same way."""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Final, Protocol, cast

from google.protobuf.message import Message

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey.table import commands as c
from okey.table import events as e
from okey.table.state import SeatStatus
from okey_runtime.identity import display_name
from services.engine.accepted import HELD, Accepted
from services.engine.actor import TableActor
from services.engine.ai import action_of
from services.engine.deadlines import Deadlines
from services.engine.errors import stake_declined
from services.engine.record import Request

_DRAWS: Final = ("draw_from_stock", "draw_from_discard")


def request_of(player: str, message: Message, request_id: str) -> Request:
    """Who asks for what under which id; the digest covers the kind of request too."""
    kind = message.DESCRIPTOR.full_name.encode()
    content = message.SerializeToString(deterministic=True)
    return Request(player, request_id, hashlib.sha256(kind + b"\0" + content).digest())


class Numbered(Protocol):
    """An answer that names the row that its command became."""

    @property
    def seq(self) -> int:
        """The row."""
        ...


class PlayerCommands:
    """Each method submits one command for a player and answers once it is committed.

    What is not committed within ``timeout_ms`` is answered all the same: nobody knows then whether
    it will count, and the same request tells.
    """

    def __init__(self, hold_wait_ms: int, timeout_ms: int) -> None:
        self._hold_wait_s = hold_wait_ms / 1000
        self._deadlines = Deadlines(timeout_ms)

    def within_ms(self, timeout_ms: int) -> int:
        """How long a command is waited for whose caller waits so long; 0 is as long as we do."""
        longest_ms = self._deadlines.within_ms
        return min(timeout_ms, longest_ms) if timeout_ms > 0 else longest_ms

    def begin(
        self, actor: TableActor, player: str, message: Message, timeout_ms: int = 0
    ) -> asyncio.Future[Numbered]:
        """Begin what a message of a Play stream asks for; commands count in the order of calls.

        Raises ``OkeyError`` where it cannot be begun.
        """
        if isinstance(message, engine_pb2.PlayOnRequest):
            return asyncio.ensure_future(self.play_on(actor, player, message, timeout_ms))
        return cast("asyncio.Future[Numbered]", self._ask(actor, player, message, timeout_ms))

    async def act(
        self, actor: TableActor, player: str, message: engine_pb2.ActRequest
    ) -> engine_pb2.ActResponse:
        """One action of a turn (U1, U12)."""
        accepted = await self._ask(actor, player, message)
        drawn = next((x.tile for x in accepted.events if isinstance(x, e.TileDrawn)), 0)
        is_draw = message.action.WhichOneof("action") in _DRAWS
        return engine_pb2.ActResponse(
            seq=accepted.seq, drawn=common_pb2.Tile.ValueType(drawn if is_draw and drawn else 0)
        )

    async def leave_seat(
        self, actor: TableActor, player: str, message: engine_pb2.LeaveSeatRequest
    ) -> engine_pb2.LeaveSeatResponse:
        """Leave, free of charge (W2)."""
        accepted = await self._ask(actor, player, message)
        return engine_pb2.LeaveSeatResponse(seq=accepted.seq)

    async def add_nonce(
        self, actor: TableActor, player: str, message: engine_pb2.AddNonceRequest
    ) -> engine_pb2.AddNonceResponse:
        """Add to the coming shuffle (T9)."""
        accepted = await self._ask(actor, player, message)
        return engine_pb2.AddNonceResponse(seq=accepted.seq)

    async def forfeit(
        self, actor: TableActor, player: str, message: engine_pb2.ForfeitRequest
    ) -> engine_pb2.ForfeitResponse:
        """Give the match up (M9)."""
        accepted = await self._ask(actor, player, message)
        return engine_pb2.ForfeitResponse(seq=accepted.seq)

    async def claim_match(
        self, actor: TableActor, player: str, message: engine_pb2.ClaimMatchRequest
    ) -> engine_pb2.ClaimMatchResponse:
        """End the match as its winner (K9)."""
        accepted = await self._ask(actor, player, message)
        return engine_pb2.ClaimMatchResponse(seq=accepted.seq)

    async def return_to_seat(
        self, actor: TableActor, player: str, message: engine_pb2.ReturnToSeatRequest
    ) -> engine_pb2.ReturnToSeatResponse:
        """Come back from a stand-in (U8)."""
        accepted = await self._ask(actor, player, message)
        return engine_pb2.ReturnToSeatResponse(seq=accepted.seq)

    async def play_on(
        self,
        actor: TableActor,
        player: str,
        message: engine_pb2.PlayOnRequest,
        timeout_ms: int = 0,
    ) -> engine_pb2.PlayOnResponse:
        """Pay again for the Nachspiel, and wait a moment for the wallet (Ç8).

        Raises the wallet's reason where it declines.
        """
        accepted = await self._ask(actor, player, message, timeout_ms)
        status = await self.hold_status(actor, asked_hold(accepted, player))
        return engine_pb2.PlayOnResponse(seq=accepted.seq, hold_status=status)

    async def take_seat(
        self, actor: TableActor, player: str, message: engine_pb2.TakeSeatRequest
    ) -> engine_pb2.TakeSeatResponse:
        """Sit down, and wait a moment for the wallet.

        Raises the wallet's reason where it declines.
        """
        seat = message.seat if message.HasField("seat") else -1
        request = request_of(player, message, message.request_id)
        names = ((player, display_name(message.display_name)),)
        accepted = await self._in_time(actor.ask(c.TakeSeat(player, seat), request, names))
        hold = asked_hold(accepted, player)
        status = await self.hold_status(actor, hold)
        return engine_pb2.TakeSeatResponse(seq=accepted.seq, seat=hold.seat, hold_status=status)

    async def hold_status(
        self, actor: TableActor, asked: e.SeatRequested
    ) -> engine_pb2.HoldStatus.ValueType:
        """Where a stake stands, after a bounded wait; raises the wallet's reason of a decline."""
        is_open = any(
            seat.hold_id == asked.hold_id and seat.status is SeatStatus.REQUESTED
            for seat in actor.table.seats
        )
        wait_s = self._hold_wait_s if is_open else 0
        verdict = await actor.holds.verdict(asked.hold_id, wait_s)
        if not verdict and is_open:
            return engine_pb2.HoldStatus.HOLD_STATUS_REQUESTED
        # A stake of a match that is over was held; its verdict is not kept any longer.
        if verdict in ("", HELD):
            return engine_pb2.HoldStatus.HOLD_STATUS_HELD
        raise stake_declined(verdict)

    def _ask(
        self, actor: TableActor, player: str, message: Message, timeout_ms: int = 0
    ) -> asyncio.Future[Accepted]:
        request = request_of(player, message, getattr(message, "request_id", ""))
        return self._in_time(actor.ask(_command_of(player, message), request), timeout_ms)

    def _in_time(
        self, answer: asyncio.Future[Accepted], timeout_ms: int = 0
    ) -> asyncio.Future[Accepted]:
        """The answer, or in time that there is none: what was not begun by then never counts."""
        within_ms = self.within_ms(timeout_ms)
        if within_ms < self._deadlines.within_ms:
            self._deadlines.watch_sooner(answer, within_ms)
        else:
            self._deadlines.watch(answer)
        return answer


def _command_of(player: str, message: Message) -> c.Command:
    match message:
        case engine_pb2.ActRequest():
            return c.PlayerMove(player, message.turn, action_of(message.action))
        case engine_pb2.AddNonceRequest():
            return c.AddNonce(player, message.nonce)
        case _:
            return _SIMPLE[type(message)](player)


_SIMPLE: Final[dict[type[Message], Callable[[str], c.Command]]] = {
    engine_pb2.LeaveSeatRequest: c.LeaveSeat,
    engine_pb2.ForfeitRequest: c.Forfeit,
    engine_pb2.ClaimMatchRequest: c.ClaimMatch,
    engine_pb2.ReturnToSeatRequest: c.ReturnToSeat,
    engine_pb2.PlayOnRequest: c.PlayOn,
}


def asked_hold(accepted: Accepted, player: str) -> e.SeatRequested:
    """The stake that an accepted row asked of the player."""
    for event in accepted.events:
        if isinstance(event, e.SeatRequested) and event.player == player:
            return event
    raise AssertionError(f"row {accepted.seq} asks no stake of {player}")
