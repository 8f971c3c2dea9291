"""PeerService: what engines ask of one another."""

from typing import Final

from okey_runtime.access import AccessTable
from okey_runtime.identity import Role

SERVICE: Final = "okey.api.engine.v1.PeerService"

_ENGINE: Final = {Role.ENGINE}

ACCESS: Final = AccessTable.of(
    SERVICE,
    {"Look": _ENGINE, "HandOver": _ENGINE, "Leave": _ENGINE, "ListOwnTables": _ENGINE},
)
