"""The echo service as a process of its own: ``python -m tests.integration.runtime_echo``."""

from okey_runtime.config import ServiceSettings
from okey_runtime.server import serve

from tests.unit.runtime.echo import EchoApp

if __name__ == "__main__":
    serve(EchoApp(ServiceSettings.load()))
