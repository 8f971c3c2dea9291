"""Serve the lobby: ``python -m services.lobby``, configured by ``OKEY_*`` variables."""

from okey_runtime.server import serve
from services.lobby.app import LobbyApp
from services.lobby.settings import LobbySettings

if __name__ == "__main__":
    serve(LobbyApp(LobbySettings.load()))
