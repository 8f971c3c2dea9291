"""The service level objectives, and the rules that Prometheus loads for them.

What is alerted on is how fast the error budget burns, over a long and a short window at once, as
in Google's SRE workbook ("Alerting on SLOs", its sixth approach): the long window says that it
matters, the short one that it still goes on. A ratio over a handful of events says nothing, so an
objective is silent below its least number of events in the long window.
"""

from dataclasses import dataclass
from typing import Final

RUNBOOK: Final = "docs/runbooks/slo-burn.md"

_WINDOWS: Final = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
_WINDOW: Final = "WINDOW"
_SUM: Final = "sum by (namespace) "
"""A namespace is an environment, and has budgets of its own."""


@dataclass(frozen=True)
class Objective:
    """``bad`` and ``total`` are rates of events, with ``WINDOW`` for what they are taken over."""

    name: str
    share: float
    """How much of the events are to be good."""
    bad: str
    total: str
    least: int
    """So many events in the long window, else it says nothing."""

    def ratio(self, window: str) -> str:
        """The share of the events that were bad."""
        return f"({self.bad}) / ({self.total})".replace(_WINDOW, window)

    def events(self, window: str) -> str:
        """How many there were."""
        return f"({self.total}) * {_seconds(window)}".replace(_WINDOW, window)

    @property
    def budget(self) -> float:
        """The share that may be bad."""
        return round(1 - self.share, 6)


@dataclass(frozen=True)
class Burn:
    """An alert: so many times as fast as the budget lasts 30 days, over both windows."""

    alert: str
    severity: str
    steps: tuple[tuple[str, str, float], ...]
    """Long window, short window, factor."""


def _slower(histogram: str, limit_s: str, selector: str = "") -> tuple[str, str]:
    inside = f"{selector}, " if selector else ""
    some = f"{{{selector}}}" if selector else ""
    total = f"{_SUM}(rate({histogram}_count{some}[{_WINDOW}]))"
    inside_it = f'{_SUM}(rate({histogram}_bucket{{{inside}le="{limit_s}"}}[{_WINDOW}]))'
    return f"{total} - {inside_it}", total


def _failing(counter: str, failed: str, selector: str = "") -> tuple[str, str]:
    both = f"{selector}, {failed}" if selector else failed
    some = f"{{{selector}}}" if selector else ""
    total = f"{_SUM}(rate({counter}{some}[{_WINDOW}]))"
    # Where nothing failed yet there is no series of failures.
    return f"{_SUM}(rate({counter}{{{both}}}[{_WINDOW}])) or 0 * {total}", total


# What the rules refuse, or the caller sent wrongly, is no failure of ours.
_OURS: Final = "ERROR|DATABASE_AWAY|DATABASE_BUSY|ENGINE_STOPPING|TABLE_RELOADING|TABLE_QUARANTINED"
_FAILED: Final = "UNKNOWN|DEADLINE_EXCEEDED|UNIMPLEMENTED|INTERNAL|UNAVAILABLE|DATA_LOSS"
_WALLET: Final = 'grpc_service="okey.api.wallet.v1.WalletService"'

OBJECTIVES: Final = (
    Objective(
        "command-success",
        0.999,
        *_failing("okey_engine_commands_total", f'code=~"{_OURS}"'),
        least=1_000,
    ),
    Objective(
        "command-latency", 0.99, *_slower("okey_engine_command_seconds", "0.25"), least=1_000
    ),
    Objective(
        "clock-lateness", 0.999, *_slower("okey_engine_timer_late_seconds", "0.5"), least=1_000
    ),
    Objective(
        "matches-completed",
        0.999,
        *_failing("okey_engine_matches_total", 'outcome="VOIDED"'),
        least=100,
    ),
    Objective(
        "wallet-success",
        0.9995,
        *_failing("grpc_server_handled_total", f'grpc_code=~"{_FAILED}"', _WALLET),
        least=2_000,
    ),
    Objective(
        "settlement",
        0.999,
        *_slower("okey_engine_relay_seconds", "5.0", 'sink="wallet", call="SettleMatch"'),
        least=100,
    ),
    Objective("seated-in-time", 0.95, *_slower("okey_lobby_wait_seconds", "30.0"), least=50),
)

BURNS: Final = (
    Burn("OkeySloBurnsFast", "critical", (("1h", "5m", 14.4), ("6h", "30m", 6))),
    Burn("OkeySloBurnsSlowly", "warning", (("1d", "2h", 3), ("3d", "6h", 1))),
)

_RATIO: Final = "okey:slo_errors:ratio_rate{}"
_EVENTS: Final = "okey:slo_events:increase{}"
_BUDGET: Final = "okey:slo_budget:ratio"
_LEAST: Final = "okey:slo_events:least"


def rules() -> dict[str, object]:
    """The file's content: a group of records for each objective, and the alerts."""
    groups: list[dict[str, object]] = [
        {"name": f"okey-slo-{one.name}", "rules": _records(one)} for one in OBJECTIVES
    ]
    groups.append({"name": "okey-slo-burn", "rules": [_alert(burn) for burn in BURNS]})
    return {"groups": groups}


def _records(one: Objective) -> list[dict[str, object]]:
    long = dict.fromkeys(step[0] for burn in BURNS for step in burn.steps)
    records = [(_RATIO.format(window), one.ratio(window)) for window in _WINDOWS]
    records += [
        (_EVENTS.format(window), one.events(window)) for window in _WINDOWS if window in long
    ]
    records += [(_BUDGET, f"vector({one.budget})"), (_LEAST, f"vector({one.least})")]
    labels = {"slo": one.name}
    return [{"record": name, "expr": told, "labels": labels} for name, told in records]


def _alert(burn: Burn) -> dict[str, object]:
    steps = (
        f"({_RATIO.format(long)} > on (slo) group_left () {factor} * {_BUDGET}\n"
        f"  and {_RATIO.format(short)} > on (slo) group_left () {factor} * {_BUDGET}\n"
        f"  and {_EVENTS.format(long)} >= on (slo) group_left () {_LEAST})"
        for long, short, factor in burn.steps
    )
    budget = "{{ $value | humanizePercentage }} of the events were bad"
    return {
        "alert": burn.alert,
        "expr": "\nor ".join(steps) + "\n",
        "labels": {"severity": burn.severity},
        "annotations": {
            "summary": "The objective {{ $labels.slo }} burns its error budget: " + budget,
            "description": "Over a long and a short window at once: it matters and goes on.",
            "runbook_url": RUNBOOK,
        },
    }


def _seconds(window: str) -> int:
    return int(window[:-1]) * {"m": 60, "h": 3_600, "d": 86_400}[window[-1]]
