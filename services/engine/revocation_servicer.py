"""RevocationService: revoking tokens, and the list that other services follow."""

from typing import Any, Final

import grpc

from okey.api.engine.v1 import revocations_pb2, revocations_pb2_grpc
from okey_runtime.access import AccessTable
from okey_runtime.identity import Role
from services.engine.revocations import RevocationList

SERVICE: Final = "okey.api.engine.v1.RevocationService"

_REVOKES: Final = {Role.OPERATOR, Role.IDENTITY}

ACCESS: Final = AccessTable.of(
    SERVICE,
    {
        "RevokeTokens": _REVOKES,
        "RevokeToken": _REVOKES,
        "ListRevocations": {
            Role.LOBBY,
            Role.WALLET,
            Role.RATING,
            Role.GATEWAY,
            Role.OPERATOR,
        },
    },
)

Context = grpc.aio.ServicerContext[Any, Any]


class RevocationServicer(revocations_pb2_grpc.RevocationServiceServicer):
    """Writes and reads the list; the operators' trail has who revoked what, and why."""

    def __init__(self, revocations: RevocationList) -> None:
        self._revocations = revocations

    async def RevokeTokens(
        self, request: revocations_pb2.RevokeTokensRequest, context: Context
    ) -> revocations_pb2.RevokeTokensResponse:
        """A player's tokens that were issued before a moment."""
        before_ms = request.issued_before_ms if request.HasField("issued_before_ms") else None
        noted = await self._revocations.revoke_player(request.player_id, before_ms)
        return revocations_pb2.RevokeTokensResponse(
            changed=noted.changed,
            issued_before_ms=noted.entry.issued_before_ms,
            until_ms=noted.entry.until_ms,
        )

    async def RevokeToken(
        self, request: revocations_pb2.RevokeTokenRequest, context: Context
    ) -> revocations_pb2.RevokeTokenResponse:
        """One token."""
        expires_ms = request.expires_ms if request.HasField("expires_ms") else None
        noted = await self._revocations.revoke_token(request.token_id, expires_ms)
        return revocations_pb2.RevokeTokenResponse(
            changed=noted.changed, until_ms=noted.entry.until_ms
        )

    async def ListRevocations(
        self, request: revocations_pb2.ListRevocationsRequest, context: Context
    ) -> revocations_pb2.ListRevocationsResponse:
        """The entries after a cursor."""
        page = await self._revocations.after(request.cursor)
        return revocations_pb2.ListRevocationsResponse(
            revocations=[
                revocations_pb2.Revocation(
                    player_id=entry.player,
                    issued_before_ms=entry.issued_before_ms,
                    token_id=entry.token_id,
                    until_ms=entry.until_ms,
                    is_replaced=entry.is_replaced,
                )
                for entry in page.entries
            ],
            cursor=page.cursor,
            newest=page.newest,
        )
