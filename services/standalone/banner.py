"""What standalone shows once it is ready: addresses, and how to go on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from okey_runtime.channel import replicas_target
from okey_runtime.dev_platform import DATA_DIR_VARIABLE, DEFAULT_DATA_DIR
from services.standalone.plan import PASSED_ON, ChildPlan

_FOR_CLIENTS: Final = ("lobby", "engine", "wallet", "rating")


def banner(
    plans: Sequence[ChildPlan],
    data_dir: Path,
    key_file: Path,
    seconds: float,
    environment: Mapping[str, str],
) -> str:
    """The table of addresses and the next steps, as text of several lines."""
    rows = [("", "gRPC", "metrics")]
    for plan in plans:
        metrics = "" if plan.is_store else f"http://{plan.ports.metrics_address}/metrics"
        rows.append((plan.name, plan.ports.address, metrics))
    pages = [plan.ports.page_url for plan in plans if plan.ports.page_url]
    lines = [f"Play at {page}" for page in pages]
    lines += [f"Ready after {seconds:.1f} s.", ""]
    lines += [f"  {name:<8} {address:<18} {metrics}".rstrip() for name, address, metrics in rows]
    lines += _targets(plans)
    lines += [
        "",
        f"  data     {data_dir}  (databases, logs, the services' tokens)",
        f"  key      {key_file}  (signs development tokens; keep it to yourself)",
        "",
        "Next, in another terminal:",
        *_named_folder(data_dir),
        "  .venv/bin/okeyctl token --player ayse  a player's token; her account opens with chips",
        "  .venv/bin/okeyctl tables list          the tables",
        "  .venv/bin/okeyctl audit                the ledger, checked",
        "  .venv/bin/okeyctl doctor               whether everything is as it should be",
        "docs/quickstart.md plays a first match.",
        "",
        "It listens on this machine only (127.0.0.1) and is for development, not for production.",
    ]
    lines += _changed(environment)
    return "\n".join([*lines, "Ctrl-C stops it."])


def _targets(plans: Sequence[ChildPlan]) -> list[str]:
    """Where there are several of a service: one target for all of them, as gRPC takes it."""
    addresses: dict[str, list[str]] = {}
    for plan in plans:
        addresses.setdefault(plan.kind, []).append(plan.ports.address)
    several = [kind for kind in _FOR_CLIENTS if len(addresses.get(kind, [])) > 1]
    if not several:
        return []
    told = [f"  {kind:<8} {replicas_target(addresses[kind])}" for kind in several]
    return ["", "One address for all of each, for clients:", *told]


def _named_folder(data_dir: Path) -> list[str]:
    """How okeyctl finds the platform where it is not in the usual place."""
    if data_dir == DEFAULT_DATA_DIR.absolute():
        return []
    return [f"  export {DATA_DIR_VARIABLE}={data_dir}"]


def _changed(environment: Mapping[str, str]) -> list[str]:
    """A warning for each setting that was handed on to the services."""
    return [f"  {key}={environment[key]} is set" for key in PASSED_ON if key in environment]
