"""What callers give their gRPC library: how to balance, and what to try again."""

import json

from okey_runtime.allowlist import PUBLISHED
from okey_runtime.channel import service_config


def text() -> str:
    """gRPC's service config, as our own channels have it: every published call counts once,
    however often it arrives, so each may be tried again.
    """
    services = sorted({each.service for each in PUBLISHED})
    config = json.loads(service_config(f"/{service}/" for service in services))
    return json.dumps(config, indent=2) + "\n"
