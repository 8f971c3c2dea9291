"""Serve the gateway: ``python -m services.gateway``, configured by ``OKEY_*`` variables."""

from okey_runtime.server import serve
from services.gateway.app import GatewayApp
from services.gateway.settings import GatewaySettings

if __name__ == "__main__":
    serve(GatewayApp(GatewaySettings.load()))
