"""How the lobby calls the engine: deadlines, failures with their reason, requests built once."""

from typing import Final, Protocol, TypeVar

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey_runtime.channel import timeout_s
from okey_runtime.errors import from_rpc_error
from okey_runtime.service_token import AUTHORIZATION
from services.lobby.terms import Terms

CALL_MS: Final = 5_000
"""How long one call may take; nothing of it is under way any more after that."""

GONE: Final = frozenset({"TABLE_NOT_FOUND", "TABLE_CLOSED"})
"""Reasons that say: there is no such table any more."""
NOT_THERE: Final = frozenset({*GONE, "NOT_SEATED"})
"""Reasons that say: the player does not sit there any more."""
BOUND: Final = "MATCH_RUNNING"
"""The reason that says: the player stays in its match."""

CLOSED: Final = "PLAYER_CLOSED"
"""The reason that says: the player's id is closed for good."""

Request = TypeVar("Request")
Response = TypeVar("Response")


class Method(Protocol[Request, Response]):
    """A unary method of a stub."""

    def __call__(
        self,
        request: Request,
        /,
        *,
        timeout: float | None = None,
        metadata: tuple[tuple[str, str], ...] | None = None,
    ) -> grpc.aio.UnaryUnaryCall[Request, Response]:
        """Call it."""
        ...


async def asked(
    method: Method[Request, Response], request: Request, authorization: str = ""
) -> Response:
    """The engine's answer; ``authorization`` is the metadata of the player who asks, where the
    channel has no token of its own.

    Raises:
        RpcFailure: it was refused, or there was no answer.
    """
    metadata = ((AUTHORIZATION, authorization),) if authorization else None
    try:
        return await method(request, timeout=timeout_s(CALL_MS / 1000), metadata=metadata)
    except grpc.aio.AioRpcError as error:
        raise from_rpc_error(error) from error


def opening(
    request_id: str, player: str, display_name: str, terms: Terms, house_fill_after_ms: int = 0
) -> engine_pb2.OpenTableRequest:
    """The request for a public table, with the player on seat 0 (W1)."""
    return engine_pb2.OpenTableRequest(
        request_id=request_id,
        player=player,
        display_name=display_name,
        variant=common_pb2.Variant.ValueType(terms.variant),
        mode=common_pb2.Mode.ValueType(terms.mode),
        seat_count=terms.seat_count,
        stake=terms.stake,
        turn_timeout_ms=terms.turn_timeout_ms,
        start_points=terms.start_points,
        house_fill_after_ms=house_fill_after_ms,
    )
