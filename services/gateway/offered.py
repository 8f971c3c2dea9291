"""The calls that players may make through the gateway: one message up, one down.

What a token lets its holder do is the services' to judge; this list keeps everything else from
being called from a browser at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import grpc
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from okey.api.engine.v1 import engine_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey.api.rating.v1 import rating_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey.errors import NotFound, quoted
from okey_client.calls import UnaryMethod


class RpcNotOffered(NotFound):
    """The gateway passes no such call on."""

    reason = "RPC_NOT_OFFERED"


@dataclass(frozen=True, slots=True)
class Rpc:
    """A unary call: the service's short name, as addresses have it, and what goes in and out."""

    home: str
    path: str
    request: type[Message]
    response: type[Message]

    def at(self, channel: grpc.aio.Channel) -> UnaryMethod[Message, Message]:
        """The call on a channel."""
        method: Any = channel.unary_unary(
            self.path,
            request_serializer=self.request.SerializeToString,
            response_deserializer=self.response.FromString,
        )
        found: UnaryMethod[Message, Message] = method
        return found


def find_rpc(service: str, method: str) -> Rpc:
    """The call, such as ``LobbyService``, ``ListTables``. Raises ``RpcNotOffered``."""
    found = OFFERED.get(f"{service}/{method}")
    if found is None:
        raise RpcNotOffered(f"{quoted(f'{service}/{method}')} is not offered to browsers")
    return found


def _rpcs(home: str, file: FileDescriptor, service: str, methods: str) -> Mapping[str, Rpc]:
    declared = file.services_by_name[service]
    found = {}
    for name in methods.split():
        method = declared.methods_by_name[name]
        found[f"{service}/{name}"] = Rpc(
            home,
            f"/{declared.full_name}/{name}",
            GetMessageClass(method.input_type),
            GetMessageClass(method.output_type),
        )
    return found


OFFERED: Final[Mapping[str, Rpc]] = {
    **_rpcs(
        "lobby",
        lobby_pb2.DESCRIPTOR,
        "LobbyService",
        "CreateTable ListTables JoinTable LeaveTable EnqueueTicket GetTicket CancelTicket",
    ),
    **_rpcs(
        "engine",
        engine_pb2.DESCRIPTOR,
        "TableService",
        "LeaveSeat AddNonce Act Forfeit ReturnToSeat PlayOn GetTable LocateTable WhereAmI "
        "GetDisplayNames ArrangeRack ListEvents",
    ),
    **_rpcs("wallet", wallet_pb2.DESCRIPTOR, "WalletService", "GetAccount ListPostings"),
    **_rpcs(
        "rating",
        rating_pb2.DESCRIPTOR,
        "RatingService",
        "GetRating GetRatings ListHistory ListLeaderboard GetRank ListSeasons",
    ),
}
"""By ``Service/Method``."""
