"""The methods that are published: what the edge and the gateway pass on from outside.

This list is the only source. Envoy's routes (``tools/manifests/envoy_routes.py``) and the calls of
the gateway (``services/gateway/offered.py``) are made from it, so a new RPC cannot be reached from
outside until it is listed here. A test compares the list with the services' access tables. Health,
reflection and the status of processes are not published: probes and operators call from inside.
"""

from dataclasses import dataclass
from typing import Final

from google.protobuf.descriptor import FileDescriptor, MethodDescriptor

from okey.api.engine.v1 import engine_pb2
from okey.api.events.v1 import events_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey.api.rating.v1 import rating_pb2
from okey.api.wallet.v1 import wallet_pb2


@dataclass(frozen=True, slots=True)
class PublishedMethod:
    """A method, and the process that serves it by the name that addresses have."""

    home: str
    method: MethodDescriptor

    @property
    def service(self) -> str:
        """The full name of its service."""
        return str(self.method.containing_service.full_name)

    @property
    def path(self) -> str:
        """How it is called: ``/package.Service/Method``."""
        return f"/{self.service}/{self.method.name}"

    @property
    def is_stream(self) -> bool:
        """Whether either side may send more than one message."""
        return bool(self.method.client_streaming or self.method.server_streaming)


def _methods(
    home: str, file: FileDescriptor, service: str, names: str
) -> tuple[PublishedMethod, ...]:
    """Raises ``KeyError`` for a name that the protos do not declare."""
    declared = file.services_by_name[service].methods_by_name
    return tuple(PublishedMethod(home, declared[name]) for name in names.split())


PLAYERS: Final = (
    *_methods(
        "lobby",
        lobby_pb2.DESCRIPTOR,
        "LobbyService",
        "CreateTable ListTables WatchTables JoinTable LeaveTable "
        "EnqueueTicket GetTicket WatchTicket CancelTicket",
    ),
    *_methods(
        "engine",
        engine_pb2.DESCRIPTOR,
        "TableService",
        "LeaveSeat AddNonce Act Forfeit ClaimMatch ReturnToSeat PlayOn GetTable LocateTable "
        "WhereAmI GetDisplayNames ArrangeRack Play WatchTable ListEvents",
    ),
    *_methods(
        "wallet",
        wallet_pb2.DESCRIPTOR,
        "WalletService",
        "GetAccount ListPostings ExportStatement",
    ),
    *_methods(
        "rating",
        rating_pb2.DESCRIPTOR,
        "RatingService",
        "GetRating GetRatings ListHistory ListLeaderboard GetRank ListSeasons",
    ),
)
"""What players call, themselves or through a gateway."""

INTEGRATORS: Final = (
    *_methods("engine", events_pb2.DESCRIPTOR, "EventService", "Subscribe"),
    *_methods(
        "engine",
        engine_pb2.DESCRIPTOR,
        "TableService",
        "GetTable LocateTable GetDisplayNames WatchTable ListEvents",
    ),
    *_methods(
        "rating",
        rating_pb2.DESCRIPTOR,
        "RatingService",
        "GetRating GetRatings ListHistory ListLeaderboard GetRank ListSeasons",
    ),
)
"""What integrators call."""

PUBLISHED: Final = tuple(
    sorted({each.path: each for each in PLAYERS + INTEGRATORS}.values(), key=lambda each: each.path)
)
"""All of them, each once, by path."""

HOMES: Final = tuple(sorted({each.home for each in PUBLISHED}))
"""The processes that an edge leads to."""
