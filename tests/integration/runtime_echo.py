"""The echo service as a process of its own: ``python -m tests.integration.runtime_echo [hang]``."""

import asyncio
import sys

from okey_runtime.config import ServiceSettings
from okey_runtime.logging import get_logger
from okey_runtime.server import ServiceServer, serve
from tests.unit.runtime.echo import EchoApp


class HangingApp(EchoApp):
    """Waits in its start for what does not come."""

    async def start(self, host: ServiceServer) -> None:
        get_logger(__name__).info("hanging")
        await asyncio.Event().wait()

    async def close(self) -> None:
        get_logger(__name__).info("closed")


if __name__ == "__main__":
    app = HangingApp if "hang" in sys.argv else EchoApp
    serve(app(ServiceSettings.load()))
