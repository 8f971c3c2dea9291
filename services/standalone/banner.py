"""What standalone shows once it is ready: addresses, and how to go on."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from services.standalone.plan import PASSED_ON, ChildPlan


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
        metrics = "" if plan.is_valkey else f"http://{plan.ports.metrics_address}/metrics"
        rows.append((plan.name, plan.ports.address, metrics))
    lines = [f"Ready after {seconds:.1f} s.", ""]
    lines += [f"  {name:<8} {address:<18} {metrics}".rstrip() for name, address, metrics in rows]
    lines += [
        "",
        f"  data     {data_dir}  (databases, logs, the services' tokens)",
        f"  key      {key_file}  (signs development tokens; keep it to yourself)",
        "",
        "Next, in another terminal:",
        "  okeyctl token --player ayse     a player's token; her account opens with chips",
        "  okeyctl tables list             the tables",
        "  okeyctl audit                   the ledger, checked",
        "docs/quickstart.md plays a first match.",
        "",
        "It listens on this machine only (127.0.0.1) and is for development, not for production.",
    ]
    lines += _changed(environment)
    return "\n".join([*lines, "Ctrl-C stops it."])


def _changed(environment: Mapping[str, str]) -> list[str]:
    """A warning for each setting that was handed on to the services."""
    return [f"  {key}={environment[key]} is set" for key in PASSED_ON if key in environment]
