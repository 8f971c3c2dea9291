"""The only place where the bot service's parts meet."""

from collections.abc import Sequence

from okey.api.bots.v1 import bots_pb2_grpc
from okey_runtime.access import AccessTable
from okey_runtime.config import ServiceSettings
from okey_runtime.server import ServiceServer
from services.bots.servicer import ACCESS, SERVICE, BotServicer


class BotsApp:
    """The bot service: no state, so nothing to open, hand over or close."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings

    @property
    def settings(self) -> ServiceSettings:
        """The service's settings."""
        return self._settings

    @property
    def services(self) -> Sequence[str]:
        """BotService alone."""
        return (SERVICE,)

    @property
    def access(self) -> AccessTable:
        """The engine alone."""
        return ACCESS

    async def start(self, host: ServiceServer) -> None:
        """Register the servicer."""
        bots_pb2_grpc.add_BotServiceServicer_to_server(BotServicer(), host.grpc)

    async def drain(self) -> None:
        """Nothing to hand over: every call stands alone."""

    async def close(self) -> None:
        """Nothing was opened."""
