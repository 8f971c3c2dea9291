"""The calls that players may make through the gateway: one message up, one down.

They are the published methods of players (``okey_runtime.allowlist``) but for streams. The services
judge what a token lets its holder do; this list keeps all other methods out of a browser's reach.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from okey.errors import NotFound, quoted
from okey_client.calls import UnaryMethod
from okey_runtime.allowlist import PLAYERS, PublishedMethod

_READING: Final = ("ArrangeRack", "Get", "List", "LocateTable", "WhereAmI")


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

    @property
    def is_reading(self) -> bool:
        """Whether it changes nothing, by its name."""
        return self.path.rpartition("/")[2].startswith(_READING)

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


def _rpc(published: PublishedMethod) -> Rpc:
    method = published.method
    return Rpc(
        published.home,
        published.path,
        GetMessageClass(method.input_type),
        GetMessageClass(method.output_type),
    )


OFFERED: Final[Mapping[str, Rpc]] = {
    f"{each.method.containing_service.name}/{each.method.name}": _rpc(each)
    for each in PLAYERS
    if not each.is_stream
}
"""By ``Service/Method``."""
