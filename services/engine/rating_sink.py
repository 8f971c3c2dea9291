"""Reports a table's events to the rating service (R1..R7)."""

from typing import Final, assert_never

import grpc
from google.protobuf.message import Message

from okey.api.common.v1 import common_pb2
from okey.api.rating.v1 import rating_pb2, rating_pb2_grpc
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.reasons import Departure, OutcomeKind, VoidReason
from okey.table.state import TableState
from okey_runtime.errors import from_rpc_error
from okey_runtime.logging import get_logger
from services.engine.record import Row
from services.engine.relay import Answer, Uncertain, is_definite

_TIMEOUT_S: Final = 5.0
_log = get_logger(__name__)


class RatingSink:
    """Matches at their end and forfeits at once; the table waits for no answer."""

    name: Final = "rating"

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = rating_pb2_grpc.RatingServiceStub(channel)

    def calls(self, before: TableState | None, after: TableState, row: Row) -> list[Message]:
        """The requests that a row asks for."""
        found: list[Message] = []
        for event in row.events:
            match event:
                case e.SeatForfeited() if event.is_penalised:
                    found.append(_forfeit(event, after.config, row.at_ms))
                case e.MatchEnded():
                    found.append(
                        _match(
                            event.match_id,
                            after.config,
                            event.players,
                            event.departures,
                            _result(event),
                            row.at_ms,
                        )
                    )
                case e.MatchVoided(reason=VoidReason.OPERATOR | VoidReason.KEY_LOST) if (
                    before and before.match
                ):
                    # One that had not started yet means nothing to anybody.
                    found.append(_voided(event, before, row.at_ms))
        return found

    async def deliver(self, call: Message) -> Answer:
        """Make the call once.

        Raises:
            Uncertain: nobody knows whether it took effect; the same call must be made again.
        """
        try:
            if isinstance(call, rating_pb2.RecordForfeitRequest):
                await self._stub.RecordForfeit(call, timeout=_TIMEOUT_S)
            elif isinstance(call, rating_pb2.RecordMatchRequest):
                await self._stub.RecordMatch(call, timeout=_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            failure = from_rpc_error(error)
            if not is_definite(failure.code):
                raise Uncertain(str(failure)) from error
            _log.error("rating_declined", call=type(call).__name__, reason=str(failure))
            return Answer(None, failure.reason or failure.code.name)
        return Answer(None, "")


def _forfeit(
    event: e.SeatForfeited, config: TableConfig, at_ms: int
) -> rating_pb2.RecordForfeitRequest:
    return rating_pb2.RecordForfeitRequest(
        match_id=event.match_id,
        variant=common_pb2.Variant.ValueType(config.variant),
        seat=event.seat,
        player_id=event.player,
        forfeited_ms=at_ms,
        rules_version=config.rules.version,
    )


def _voided(
    event: e.MatchVoided, before: TableState | None, at_ms: int
) -> rating_pb2.RecordMatchRequest:
    assert before is not None, "a match is voided at a table that is there"
    assert before.match is not None, "an operator voids a running match"
    departures = tuple(seat.departure for seat in before.seats)
    result = rating_pb2.MatchResult(voided=rating_pb2.MatchVoid())
    return _match(event.match_id, before.config, before.match.players, departures, result, at_ms)


def _match(
    match_id: str,
    config: TableConfig,
    players: tuple[str, ...],
    departures: tuple[Departure, ...],
    result: rating_pb2.MatchResult,
    at_ms: int,
) -> rating_pb2.RecordMatchRequest:
    return rating_pb2.RecordMatchRequest(
        table_id=config.table_id,
        match_id=match_id,
        variant=common_pb2.Variant.ValueType(config.variant),
        mode=common_pb2.Mode.ValueType(config.mode),
        seats=[
            _seat(player, departure) for player, departure in zip(players, departures, strict=True)
        ],
        result=result,
        ended_ms=at_ms,
        rules_version=config.rules.version,
        # A table of an earlier rule set is reported as it always was, so that a repetition is one.
        is_private=config.is_private and config.rules.unrated_private_tables,
    )


def _seat(player: str, departure: Departure) -> rating_pb2.MatchSeat:
    if not player:
        return rating_pb2.MatchSeat(house=True)
    match departure:
        case Departure.STAYED:
            return rating_pb2.MatchSeat(player_id=player)
        case Departure.FORFEITED:
            left = rating_pb2.Departure.DEPARTURE_FORFEITED
        case Departure.EXCUSED:
            left = rating_pb2.Departure.DEPARTURE_EXCUSED
        case _:
            assert_never(departure)
    return rating_pb2.MatchSeat(player_id=player, departure=left)


def _result(event: e.MatchEnded) -> rating_pb2.MatchResult:
    match event.kind:
        case OutcomeKind.CANAK_WIN:
            win = rating_pb2.CanakWin(winner_seat=event.winner)
            return rating_pb2.MatchResult(canak_win=win)
        case OutcomeKind.KLASIK_WIN:
            points = rating_pb2.KlasikWin(winner_seat=event.winner, remaining_points=event.points)
            return rating_pb2.MatchResult(klasik_win=points)
        case OutcomeKind.HOUSE_WIN:
            return rating_pb2.MatchResult(house_win=rating_pb2.HouseWin())
        case OutcomeKind.CANAK_DRAW | OutcomeKind.KLASIK_DRAW:
            return rating_pb2.MatchResult(draw=rating_pb2.MatchDraw())
