"""Envoy before the platform of this machine, for gRPC-Web: as it is deployed, without TLS.

.venv/bin/python -m examples.web.edge --port 8080
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from okey_runtime.dev_platform import DATA_DIR_VARIABLE, DEFAULT_DATA_DIR, DevPlatform
from tools.manifests.envoy import PUBLIC, Address, Edge, bootstrap

ENVOY = Path(sys.executable).with_name("envoy")


def edge_of(platform: DevPlatform, port: int) -> Edge:
    """Envoy on this port and, for its telemetry and admin pages, the two above it."""
    services = {}
    for name in PUBLIC:
        host, _, service_port = platform.address(name).rpartition(":")
        services[name] = [Address(host, int(service_port))]
    here, telemetry = Address("127.0.0.1", port), Address("127.0.0.1", port + 1)
    return Edge(here, telemetry, services, admin_port=port + 2)


def main() -> None:
    """Become Envoy; Ctrl-C ends it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=8080)
    port = parser.parse_args().port
    data_dir = Path(os.environ.get(DATA_DIR_VARIABLE, DEFAULT_DATA_DIR))
    config = Path(tempfile.mkdtemp(prefix="okey-edge-"), "envoy.json")
    config.write_text(json.dumps(bootstrap(edge_of(DevPlatform.find(data_dir), port))))
    quiet = ("--log-level", "warning", "--disable-hot-restart")
    os.execv(ENVOY, [str(ENVOY), *quiet, "-c", str(config)])


if __name__ == "__main__":
    main()
