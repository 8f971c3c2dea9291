"""``make edge``: Envoy before the platform that runs on this machine, configured as deployed.

It listens in plaintext on loopback, at the port that is given; metrics and readiness are one port
above, its administration two. It ends with Ctrl-C, and platforms neither know nor need it.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from okey_runtime.allowlist import HOMES
from okey_runtime.dev_platform import (
    DATA_DIR_VARIABLE,
    DEFAULT_DATA_DIR,
    DevPlatform,
    PlatformNotRunning,
)
from tools.manifests.envoy import Edge, bootstrap
from tools.manifests.envoy_parts import Address
from tools.manifests.origins import origin

ENVOY: Final = Path(sys.executable).with_name("envoy")
PORT: Final = 7590
_HOST: Final = "127.0.0.1"
_CONFIG: Final = "envoy.json"


def before(platform: DevPlatform, port: int, origins: Sequence[str] = ()) -> Edge:
    """An edge that leads to every process of each published service of the platform."""
    services = {
        name: [Address.of(each) for each in platform.addresses(name).values()] for name in HOMES
    }
    listen, telemetry = Address(_HOST, port), Address(_HOST, port + 1)
    return Edge(listen, telemetry, services, admin_port=port + 2, origins=origins)


def main() -> None:
    """Become Envoy; status 2 where there is no platform to stand before."""
    parser = argparse.ArgumentParser(description=__doc__)
    data_dir = Path(os.environ.get(DATA_DIR_VARIABLE, DEFAULT_DATA_DIR))
    parser.add_argument("--data-dir", type=Path, default=data_dir, help="the platform's")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument(
        "--origin",
        type=origin,
        action="append",
        default=[],
        help="whose pages may call by gRPC-Web, such as http://localhost:3000; may be repeated",
    )
    options = parser.parse_args()
    try:
        edge = before(DevPlatform.find(options.data_dir), options.port, options.origin)
    except PlatformNotRunning as error:
        parser.error(str(error))
    config = options.data_dir / _CONFIG
    config.write_text(json.dumps(bootstrap(edge), indent=1))
    telemetry = f"{edge.telemetry.host}:{edge.telemetry.port}"
    print(f"Envoy: {edge.listen.host}:{edge.listen.port}, http://{telemetry}/metrics", flush=True)
    arguments = ("--log-level", "warning", "--concurrency", "1", "--disable-hot-restart")
    os.execv(ENVOY, [str(ENVOY), *arguments, "-c", str(config)])


if __name__ == "__main__":
    main()
