"""What Grafana shows: an overview, and a dashboard a service, each of one environment or of all."""

import json
import re
from dataclasses import dataclass
from typing import Final

_WIDTH: Final = 24
_HEIGHT: Final = 8
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}


@dataclass(frozen=True)
class Panel:
    """One picture: series by PromQL, the legend made from their labels."""

    title: str
    unit: str
    """Grafana's name: ``s``, ``reqps``, ``percentunit``, ``short``, ``bytes``."""
    series: tuple[tuple[str, str], ...]
    """Expression and legend."""
    about: str = ""
    kind: str = "timeseries"
    width: int = 8


@dataclass(frozen=True)
class Dashboard:
    """A page of panels, in rows from left to right."""

    name: str
    title: str
    panels: tuple[Panel, ...]


def text(board: Dashboard) -> str:
    """The dashboard as Grafana imports it."""
    panels, x, y = [], 0, 0
    for number, panel in enumerate(board.panels, 1):
        if x + panel.width > _WIDTH:
            x, y = 0, y + _HEIGHT
        panels.append(_panel(panel, number, x, y))
        x += panel.width
    content = {
        "uid": f"okey-{board.name}",
        "title": board.title,
        "tags": ["okey"],
        "timezone": "browser",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "links": [{"type": "dashboards", "tags": ["okey"], "asDropdown": True, "title": "Okey"}],
        "templating": {
            "list": [
                {"name": "source", "type": "datasource", "query": "prometheus", "label": "Source"},
                _NAMESPACE,
            ]
        },
        "panels": panels,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _panel(panel: Panel, number: int, x: int, y: int) -> dict[str, object]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + n),
                "datasource": _SOURCE,
                "expr": _of_namespace(expr),
                "legendFormat": legend,
            }
            for n, (expr, legend) in enumerate(panel.series)
        ],
    }


_NAMESPACE: Final[dict[str, object]] = {
    "name": "namespace",
    "type": "query",
    "label": "Namespace",
    "datasource": _SOURCE,
    "query": "label_values(okey_event_loop_lag_seconds_count, namespace)",
    "refresh": 2,
    "sort": 1,
    "includeAll": True,
    # Also what has no namespace, as on a machine without a cluster.
    "allValue": ".*",
    "current": {"text": "All", "value": "$__all"},
}
_SERIES: Final = re.compile(
    r"\b(okey_\w+|okey:slo_errors:\w+|grpc_server_\w+|process_\w+|ALERTS\b)({?)"
)


def _of_namespace(expression: str) -> str:
    """The expression about the namespace that is chosen alone; budgets are everybody's."""

    def selected(found: re.Match[str]) -> str:
        metric, brace = found.groups()
        chosen = f'{metric}{{namespace=~"$namespace"'
        return f"{chosen}, " if brace else f"{chosen}}}"

    return _SERIES.sub(selected, expression)


def _rate(counter: str, *by: str) -> tuple[tuple[str, str], ...]:
    legend = " ".join(f"{{{{{label}}}}}" for label in by) or "all"
    return ((f"sum by ({', '.join(by)}) (rate({counter}[$__rate_interval]))", legend),)


def _level(gauge: str, *by: str) -> tuple[tuple[str, str], ...]:
    legend = " ".join(f"{{{{{label}}}}}" for label in by) or "all"
    return ((f"sum by ({', '.join(by)}) ({gauge})", legend),)


def _quantiles(histogram: str, *by: str) -> tuple[tuple[str, str], ...]:
    labels = ", ".join(("le", *by))
    legend = "".join(f" {{{{{label}}}}}" for label in by)
    return tuple(
        (
            f"histogram_quantile({share}, sum by ({labels}) "
            f"(rate({histogram}_bucket[$__rate_interval])))",
            f"p{share:.0%}".rstrip("%") + legend,
        )
        for share in (0.5, 0.99)
    )


def _calls(service: str) -> tuple[Panel, ...]:
    """What every gRPC service's dashboard begins with."""
    of = f'{{grpc_service=~"okey.api.{service}.*"}}'
    return (
        Panel("Calls", "reqps", _rate(f"grpc_server_handled_total{of}", "grpc_method")),
        Panel(
            "Calls that failed, by code",
            "reqps",
            _rate(
                f'grpc_server_handled_total{{grpc_service=~"okey.api.{service}.*", '
                'grpc_code!="OK"}',
                "grpc_method",
                "grpc_code",
            ),
            "FAILED_PRECONDITION and its like are the rules; UNAVAILABLE and INTERNAL are ours.",
        ),
        Panel(
            "Latency of unary calls, p99",
            "s",
            (
                (
                    "histogram_quantile(0.99, sum by (le, grpc_method) "
                    f"(rate(grpc_server_handling_seconds_bucket{of}[$__rate_interval])))",
                    "{{grpc_method}}",
                ),
            ),
        ),
    )


def _loop(service: str) -> Panel:
    of = f'{{job="{service}"}}'
    return Panel(
        "Event loop late, p99",
        "s",
        (
            (
                "histogram_quantile(0.99, sum by (le, instance) "
                f"(rate(okey_event_loop_lag_seconds_bucket{of}[$__rate_interval])))",
                "{{instance}}",
            ),
        ),
        "How much later than asked the loop wakes a sleeper: whether the core has enough of "
        "itself.",
    )


def _process(service: str) -> tuple[Panel, ...]:
    of = f'{{job="{service}"}}'
    return (
        Panel("Memory", "bytes", ((f"process_resident_memory_bytes{of}", "{{instance}}"),)),
        Panel(
            "CPU",
            "percentunit",
            ((f"rate(process_cpu_seconds_total{of}[$__rate_interval])", "{{instance}}"),),
            "Of one core; a service is one loop on one core.",
        ),
    )


OVERVIEW: Final = Dashboard(
    "overview",
    "Okey: overview",
    (
        Panel(
            "Error budgets: burn over one hour",
            "short",
            (
                (
                    "okey:slo_errors:ratio_rate1h / on (slo) group_left () okey:slo_budget:ratio",
                    "{{slo}}",
                ),
            ),
            "1 is as much as 30 days allow; 14.4 wakes somebody.",
            width=16,
        ),
        Panel(
            "Alerts",
            "short",
            (('sum by (alertname, severity) (ALERTS{alertstate="firing"})', "{{alertname}}"),),
            kind="table",
        ),
        Panel("Tables", "short", _level("okey_engine_tables", "state")),
        Panel("Streams", "short", _level("okey_engine_watchers")),
        Panel("Tickets that wait", "short", (("max(okey_lobby_queue_length)", "longest queue"),)),
        Panel("Commands", "reqps", _rate("okey_engine_commands_total", "code")),
        Panel("Command to commit", "s", _quantiles("okey_engine_command_seconds")),
        Panel("Clocks ring late", "s", _quantiles("okey_engine_timer_late_seconds")),
        Panel("Matches that ended", "short", _rate("okey_engine_matches_total", "outcome")),
        Panel(
            "Oldest event that a sink has not answered",
            "s",
            (("max by (sink) (okey_engine_relay_oldest_waiting_seconds)", "{{sink}}"),),
        ),
        Panel(
            "Audit's findings",
            "short",
            (("max by (kind) (okey_wallet_audit_findings)", "{{kind}}"),),
            "Anything but 0 is money: docs/runbooks/audit-finding.md.",
        ),
    ),
)

ENGINE: Final = Dashboard(
    "engine",
    "Okey: engine",
    (
        Panel("Tables by engine", "short", _level("okey_engine_tables", "instance", "state")),
        Panel("Commands by kind", "reqps", _rate("okey_engine_commands_total", "kind")),
        Panel(
            "Commands refused or failed",
            "reqps",
            _rate('okey_engine_commands_total{code!="OK"}', "code"),
        ),
        Panel("Command to commit", "s", _quantiles("okey_engine_command_seconds", "instance")),
        Panel("One commit", "s", _quantiles("okey_engine_commit_seconds", "instance")),
        Panel("Rows in one commit", "short", _quantiles("okey_engine_commit_rows", "instance")),
        Panel("Clocks ring late", "s", _quantiles("okey_engine_timer_late_seconds", "instance")),
        _loop("engine"),
        Panel(
            "Standing still",
            "s",
            (("okey_engine_standing_still_seconds", "{{instance}}"),),
            "The database does not answer: clocks stand, nobody can move.",
        ),
        Panel(
            "Rows that sinks have not answered",
            "short",
            _level("okey_engine_relay_waiting_rows", "sink"),
        ),
        Panel("From commit to answer", "s", _quantiles("okey_engine_relay_seconds", "call")),
        Panel("Sinks' answers", "reqps", _rate("okey_engine_relay_answers_total", "sink", "code")),
        Panel("Streams", "short", _level("okey_engine_watchers", "instance")),
        Panel(
            "Streams ended by the engine",
            "reqps",
            _rate("okey_engine_watchers_cut_total", "reason"),
        ),
        Panel(
            "Timeouts, stand-ins, returns",
            "reqps",
            (
                *(
                    (f"sum(rate({name}[$__rate_interval]))", legend)
                    for name, legend in (
                        ("okey_engine_timeouts_total", "timeouts"),
                        ("okey_engine_stand_ins_total", "stand-ins"),
                        ("okey_engine_returns_total", "returns"),
                        ("okey_engine_forfeits_total", "given up"),
                    )
                ),
            ),
        ),
        Panel("Rounds that ended", "reqps", _rate("okey_engine_rounds_total", "outcome")),
        Panel("Tables taken over", "reqps", _rate("okey_engine_table_takeovers_total", "instance")),
        Panel("Quarantined tables", "short", _level("okey_engine_quarantined_tables", "instance")),
        Panel("Overdue tables", "short", _level("okey_engine_overdue_tables", "instance")),
        *_process("engine"),
    ),
)

WALLET: Final = Dashboard(
    "wallet",
    "Okey: wallet",
    (
        *_calls("wallet"),
        Panel(
            "Audit's findings",
            "short",
            (("max by (kind) (okey_wallet_audit_findings)", "{{kind}}"),),
        ),
        Panel(
            "Since the last audit",
            "s",
            (("time() - max(okey_wallet_audit_last_run_timestamp_seconds)", "age"),),
        ),
        Panel("Journals sealed", "reqps", _rate("okey_wallet_sealed_journals_total", "instance")),
        Panel("Has a key to seal with", "short", (("okey_wallet_chain_key", "{{instance}}"),)),
        _loop("wallet"),
        *_process("wallet"),
    ),
)

RATING: Final = Dashboard(
    "rating",
    "Okey: rating",
    (
        *_calls("rating"),
        Panel("Reports", "reqps", _rate("okey_rating_reports_total", "kind")),
        _loop("rating"),
        *_process("rating"),
    ),
)

LOBBY: Final = Dashboard(
    "lobby",
    "Okey: lobby",
    (
        *_calls("lobby"),
        Panel(
            "Tickets that wait",
            "short",
            (
                (
                    "max by (variant, mode, seats) (okey_lobby_queue_length)",
                    "{{variant}} {{mode}} {{seats}}",
                ),
            ),
            "Every replica tells the same number.",
        ),
        Panel("Until a ticket is seated", "s", _quantiles("okey_lobby_wait_seconds", "variant")),
        Panel("Tickets dropped", "reqps", _rate("okey_lobby_tickets_dropped_total", "reason")),
        Panel("Matches made", "reqps", _rate("okey_lobby_matches_total", "kind")),
        _loop("lobby"),
        *_process("lobby"),
    ),
)

BOTS: Final = Dashboard(
    "bots",
    "Okey: bots",
    (
        *_calls("bots"),
        Panel("Choices", "reqps", _rate("okey_bots_answers_total", "level", "code")),
        Panel(
            "AI turns, as the engine saw them",
            "reqps",
            _rate("okey_engine_bot_answers_total", "code"),
        ),
        _loop("bots"),
        *_process("bots"),
    ),
)

GATEWAY: Final = Dashboard(
    "gateway",
    "Okey: gateway",
    (
        Panel("Connections", "short", _level("okey_gateway_connections", "instance")),
        Panel("Frames", "reqps", _rate("okey_gateway_frames_total", "direction")),
        Panel(
            "Connections ended by the gateway",
            "reqps",
            _rate("okey_gateway_ends_total", "reason"),
            "Those whose client went are not counted.",
        ),
        Panel(
            "Dropped at the port",
            "cps",
            _rate("okey_gateway_dropped_total", "reason"),
        ),
        Panel("Command to answer", "s", _quantiles("okey_gateway_command_seconds", "outcome")),
        Panel("Requests", "reqps", _rate("okey_gateway_requests_total", "route", "status")),
        Panel("Latency of requests", "s", _quantiles("okey_gateway_request_seconds", "route")),
        _loop("gateway"),
        *_process("gateway"),
    ),
)

DASHBOARDS: Final = (OVERVIEW, ENGINE, WALLET, RATING, LOBBY, BOTS, GATEWAY)
