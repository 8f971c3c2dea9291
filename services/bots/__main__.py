"""Serve bots: ``python -m services.bots``, configured by ``OKEY_*`` variables."""

from okey_runtime.config import ServiceSettings
from okey_runtime.server import serve
from services.bots.app import BotsApp

if __name__ == "__main__":
    serve(BotsApp(ServiceSettings.load()))
