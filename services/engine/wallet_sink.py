"""What the wallet is told of a table's events, and what its answers mean to the table (M1..M10)."""

from collections.abc import Awaitable, Callable
from typing import Final, assert_never

import grpc
from google.protobuf.message import Message

from okey.api.common.v1 import common_pb2
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.reasons import ForfeitReason, OutcomeKind
from okey.table.state import TableState
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.logging import get_logger
from services.engine.record import Row
from services.engine.relay import Answer, Uncertain, is_definite

_TIMEOUT_S: Final = 5.0
_CAUSES: Final = {
    ForfeitReason.GAVE_UP: wallet_pb2.ForfeitCause.FORFEIT_CAUSE_GAVE_UP,
    ForfeitReason.ABANDONED: wallet_pb2.ForfeitCause.FORFEIT_CAUSE_ABANDONED,
}
_log = get_logger(__name__)

WalletCall = (
    wallet_pb2.HoldStakeRequest
    | wallet_pb2.VoidHoldRequest
    | wallet_pb2.StartMatchRequest
    | wallet_pb2.ForfeitSeatRequest
    | wallet_pb2.SettleMatchRequest
    | wallet_pb2.VoidMatchRequest
    | wallet_pb2.CloseTableRequest
)
"""What the wallet can be asked on behalf of a table."""


class WalletSink:
    """One call an event that moves chips, in order; its key is the event's place in the journal."""

    name: Final = "wallet"

    def __init__(self, channel: grpc.aio.Channel) -> None:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        self._methods: dict[type[Message], Callable[..., Awaitable[Message]]] = {
            wallet_pb2.HoldStakeRequest: stub.HoldStake,
            wallet_pb2.VoidHoldRequest: stub.VoidHold,
            wallet_pb2.StartMatchRequest: stub.StartMatch,
            wallet_pb2.ForfeitSeatRequest: stub.ForfeitSeat,
            wallet_pb2.SettleMatchRequest: stub.SettleMatch,
            wallet_pb2.VoidMatchRequest: stub.VoidMatch,
            wallet_pb2.CloseTableRequest: stub.CloseTable,
        }

    def calls(self, before: TableState | None, after: TableState, row: Row) -> list[Message]:
        """The requests that a row asks for."""
        return [*wallet_calls(after.config, row)]

    async def deliver(self, call: Message) -> Answer:
        """Make the call once.

        Raises:
            Uncertain: nobody knows whether it took effect; the same call must be made again.
        """
        method = self._methods[type(call)]
        try:
            await method(call, timeout=_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            failure = from_rpc_error(error)
            if not is_definite(failure.code):
                raise Uncertain(str(failure)) from error
            return Answer(_declined(call, failure), failure.reason or failure.code.name)
        return Answer(_confirmed(call), "")


def wallet_calls(config: TableConfig, row: Row) -> list[WalletCall]:
    """The requests that a row asks for, in order; a key is the event's place in the journal."""
    found = (
        _call(event, config, f"{config.table_id}-{row.seq}-{index}")
        for index, event in enumerate(row.events)
        if type(event) in _TOLD
    )
    return [call for call in found if call is not None]


_TOLD: Final = frozenset(
    {
        e.SeatRequested,
        e.SeatVacated,
        e.MatchStartRequested,
        e.SeatForfeited,
        e.MatchEnded,
        e.MatchVoided,
        e.TableClosed,
    }
)
"""The events that the wallet hears of; hardly any row has one."""


def _call(event: e.Event, config: TableConfig, key: str) -> WalletCall | None:
    match event:
        case e.SeatRequested(_, player, hold_id):
            return wallet_pb2.HoldStakeRequest(
                idempotency_key=key,
                hold_id=hold_id,
                table_id=config.table_id,
                match_id=hold_id.rsplit("-", 2)[0],
                player_id=player,
                stake=config.stake,
                rules_version=config.rules.version,
            )
        case e.SeatVacated(hold_id=hold_id) if hold_id:
            return wallet_pb2.VoidHoldRequest(idempotency_key=key, hold_id=hold_id)
        case e.MatchStartRequested(match_id, _, hold_ids):
            return wallet_pb2.StartMatchRequest(
                idempotency_key=key,
                table_id=config.table_id,
                match_id=match_id,
                variant=common_pb2.Variant.ValueType(config.variant),
                mode=common_pb2.Mode.ValueType(config.mode),
                stake=config.stake,
                rules_version=config.rules.version,
                seats=[_staked(hold_id) for hold_id in hold_ids],
            )
        case e.SeatForfeited(match_id, seat):
            return wallet_pb2.ForfeitSeatRequest(
                idempotency_key=key, match_id=match_id, seat=seat, cause=_CAUSES[event.reason]
            )
        case e.MatchEnded(match_id):
            return wallet_pb2.SettleMatchRequest(
                idempotency_key=key, match_id=match_id, outcome=_outcome(event)
            )
        case e.MatchVoided(match_id):
            return wallet_pb2.VoidMatchRequest(idempotency_key=key, match_id=match_id)
        case e.TableClosed():
            return wallet_pb2.CloseTableRequest(idempotency_key=key, table_id=config.table_id)
        case _:
            return None


def _staked(hold_id: str) -> wallet_pb2.StakedSeat:
    return wallet_pb2.StakedSeat(hold_id=hold_id) if hold_id else wallet_pb2.StakedSeat(house=True)


def _outcome(event: e.MatchEnded) -> wallet_pb2.MatchOutcome:
    match event.kind:
        case OutcomeKind.CANAK_WIN:
            assert event.finish is not None, "a Çanak win has a finish"
            finish = common_pb2.FinishKind.Value(f"FINISH_KIND_{event.finish.name}")
            win = wallet_pb2.CanakWin(seat=event.winner, finish=finish)
            return wallet_pb2.MatchOutcome(canak_win=win)
        case OutcomeKind.CANAK_DRAW:
            return wallet_pb2.MatchOutcome(canak_draw=wallet_pb2.CanakDraw())
        case OutcomeKind.KLASIK_WIN:
            return wallet_pb2.MatchOutcome(klasik_win=wallet_pb2.KlasikWin(seat=event.winner))
        case OutcomeKind.KLASIK_DRAW:
            draw = wallet_pb2.KlasikDraw(contending=event.contending)
            return wallet_pb2.MatchOutcome(klasik_draw=draw)
        case OutcomeKind.HOUSE_WIN:
            return wallet_pb2.MatchOutcome(house_win=wallet_pb2.HouseWin())
        case _:
            assert_never(event.kind)


def _confirmed(call: Message) -> c.Command | None:
    match call:
        case wallet_pb2.HoldStakeRequest():
            return c.ConfirmHold(call.hold_id)
        case wallet_pb2.StartMatchRequest():
            return c.ConfirmStart(call.match_id)
        case wallet_pb2.SettleMatchRequest():
            return c.ConfirmSettlement(call.match_id)
        case _:
            return None


def _declined(call: Message, failure: RpcFailure) -> c.Command | None:
    reason = failure.reason or failure.code.name
    match call:
        case wallet_pb2.HoldStakeRequest():
            return c.DeclineHold(call.hold_id, reason)
        case wallet_pb2.StartMatchRequest():
            void = failure.metadata.get("hold_ids", "")
            return c.DeclineStart(call.match_id, tuple(filter(None, void.split(","))))
        case wallet_pb2.SettleMatchRequest():
            # The wallet will never settle it under this key: the table goes on, the audit tells.
            _log.error("settlement_declined", match_id=call.match_id, reason=reason)
            return c.ConfirmSettlement(call.match_id)
        case _:
            _log.warning("wallet_declined", call=type(call).__name__, reason=reason)
            return None
