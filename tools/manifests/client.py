"""What callers give their gRPC library: how to balance, and what to try again."""

import json

from okey_runtime.channel import service_config
from tools.manifests.envoy import PUBLIC


def text() -> str:
    """gRPC's service config, as our own channels have it: every public call counts once, however
    often it arrives, so each may be tried again.
    """
    services = sorted(service.full_name for found in PUBLIC.values() for service in found)
    config = json.loads(service_config(f"/{service}/" for service in services))
    return json.dumps(config, indent=2) + "\n"
