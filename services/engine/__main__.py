"""Serve tables: ``python -m services.engine``, configured by ``OKEY_*`` variables."""

from okey_runtime.server import serve
from services.engine.app import EngineApp
from services.engine.settings import EngineSettings

if __name__ == "__main__":
    serve(EngineApp(EngineSettings.load()))
