"""Each alert fires on what it is about and stays quiet otherwise, said by Prometheus' own tool."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.deploy import promtool
from tests.deploy.promtool import Case
from tools.manifests import slo

RULES: Final = Path(__file__).parents[2] / "deploy" / "rules"
FILES: Final = sorted(RULES.glob("*.yaml"))

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(
        promtool.PROMTOOL is None,
        reason="NOT CHECKED: no alert is tried here, promtool is missing: as root, "
        "apt-get install prometheus",
    ),
]


def fires(alert: str, at: str, **series: str) -> Case:
    return Case(alert, _named(series), at, fires=True)


def is_quiet(alert: str, at: str, **series: str) -> Case:
    return Case(alert, _named(series), at, fires=False)


def _named(series: dict[str, str]) -> dict[str, str]:
    """Keys name series in short: ``tables`` of a case's own table below."""
    return {SERIES[name]: values for name, values in series.items()}


AT: Final = 'instance="a:7420"'
SERIES: Final = {
    "findings": 'okey_wallet_audit_findings{kind="UNBALANCED"}',
    "audited": "okey_wallet_audit_last_run_timestamp_seconds",
    "audit_failures": "okey_wallet_audit_failures_total",
    "chain_key": "okey_wallet_chain_key",
    "late_all": f'okey_engine_timer_late_seconds_bucket{{le="+Inf", {AT}}}',
    "late_half": f'okey_engine_timer_late_seconds_bucket{{le="0.5", {AT}}}',
    "late_quarter": f'okey_engine_timer_late_seconds_bucket{{le="0.25", {AT}}}',
    "commands_all": f'okey_engine_command_seconds_bucket{{le="+Inf", {AT}}}',
    "commands_half": f'okey_engine_command_seconds_bucket{{le="0.5", {AT}}}',
    "commands_quarter": f'okey_engine_command_seconds_bucket{{le="0.25", {AT}}}',
    "lag_all": f'okey_event_loop_lag_seconds_bucket{{le="+Inf", job="engine", {AT}}}',
    "lag_half": f'okey_event_loop_lag_seconds_bucket{{le="0.5", job="engine", {AT}}}',
    "lag_tenth": f'okey_event_loop_lag_seconds_bucket{{le="0.1", job="engine", {AT}}}',
    "bots_lag": 'okey_event_loop_lag_seconds_count{job="bots"}',
    "engine_lag": 'okey_event_loop_lag_seconds_count{job="engine"}',
    "standing": f"okey_engine_standing_still_seconds{{{AT}}}",
    "stood": f"okey_engine_standstill_seconds_total{{{AT}}}",
    "failed": f'okey_engine_commands_total{{kind="DrawFromStock", code="ERROR", {AT}}}',
    "accepted": f'okey_engine_commands_total{{kind="DrawFromStock", code="OK", {AT}}}',
    "cut": 'okey_engine_watchers_cut_total{reason="STREAM_END_REASON_SLOW_READER"}',
    "cache_up": "okey_rating_board_cache_up",
    "rebuilds": 'okey_rating_board_rebuilds_total{ladder="CANAK"}',
    "waiting": 'okey_engine_relay_oldest_waiting_seconds{sink="wallet"}',
    "uncertain": 'okey_engine_relay_answers_total{sink="wallet", code="UNCERTAIN"}',
    "quarantined": "okey_engine_quarantined_tables",
    "unloaded": "okey_engine_unloaded_tables",
    "ends": f'okey_tls_certificate_expires_timestamp_seconds{{file="a", {AT}}}',
    "busy": f'okey_limited_calls_total{{reason="SERVICE_BUSY", {AT}}}',
    "too_fast": f'okey_limited_calls_total{{reason="RATE_LIMITED", {AT}}}',
    "list_as_of": "okey_lobby_table_list_as_of_seconds",
    "uncounted": "okey_lobby_unlimited_total",
    "bank": 'okey_wallet_house_chips{account="house:bot_bank"}',
    "floor": "okey_wallet_bot_bank_floor_chips",
    "unowned": f"okey_engine_unowned_shards{{{AT}}}",
    "lease_age": f"okey_engine_lease_age_seconds{{{AT}}}",
    "unowned_elsewhere": 'okey_engine_unowned_shards{instance="b:7420"}',
    "lease_age_elsewhere": 'okey_engine_lease_age_seconds{instance="b:7420"}',
}

CASES: Final = (
    fires("OkeyAuditFinding", "1m", findings="1x5"),
    is_quiet("OkeyAuditFinding", "5m", findings="0x5"),
    # The clock of these tests begins at 0, so an audit at second 0 is as old as the test.
    fires("OkeyAuditOverdue", "70m", audited="0x80", audit_failures="0x80"),
    fires("OkeyAuditOverdue", "10m"),
    fires("OkeyAuditOverdue", "30m", audited="0+60x40", audit_failures="0+1x40"),
    is_quiet("OkeyAuditOverdue", "70m", audited="0+60x80", audit_failures="0x80"),
    fires("OkeyLedgerNotSealed", "6m", chain_key="0x10"),
    is_quiet("OkeyLedgerNotSealed", "6m", chain_key="1x10"),
    fires(
        "OkeyClocksRingLate", "15m", late_all="0+60x20", late_half="0+30x20", late_quarter="0x20"
    ),
    is_quiet(
        "OkeyClocksRingLate", "15m", late_all="0+60x20", late_half="0+60x20", late_quarter="0+60x20"
    ),
    fires(
        "OkeyCommandsSlow",
        "15m",
        commands_all="0+60x20",
        commands_half="0+30x20",
        commands_quarter="0x20",
    ),
    is_quiet(
        "OkeyCommandsSlow",
        "15m",
        commands_all="0+60x20",
        commands_half="0+60x20",
        commands_quarter="0+60x20",
    ),
    fires("OkeyEventLoopLate", "15m", lag_all="0+60x20", lag_half="0+60x20", lag_tenth="0+10x20"),
    is_quiet(
        "OkeyEventLoopLate", "15m", lag_all="0+60x20", lag_half="0+60x20", lag_tenth="0+60x20"
    ),
    fires("OkeyEngineStandsStill", "1m", standing="20x5"),
    is_quiet("OkeyEngineStandsStill", "1m", standing="3x5"),
    fires("OkeyEngineStandsStillOften", "10m", stood="0+12x20"),
    is_quiet("OkeyEngineStandsStillOften", "10m", stood="0+1x20"),
    fires("OkeyEngineFails", "5m", failed="0+1x10"),
    is_quiet("OkeyEngineFails", "5m", failed="3x10", accepted="0+60x10"),
    fires("OkeySlowReaders", "20m", cut="0+90x30"),
    is_quiet("OkeySlowReaders", "20m", cut="0+10x30"),
    fires("OkeyRatingBoardCacheDown", "25m", cache_up="1x5 0x30"),
    is_quiet("OkeyRatingBoardCacheDown", "25m", cache_up="0x40"),
    fires("OkeyRatingBoardCopiesLost", "60m", rebuilds="0+1x60"),
    is_quiet("OkeyRatingBoardCopiesLost", "60m", rebuilds="0+0.05x60"),
    fires("OkeyRatingNotScraped", "6m"),
    is_quiet("OkeyRatingNotScraped", "6m", cache_up="0x10"),
    fires("OkeyRelayStuck", "3m", waiting="40+60x5"),
    is_quiet("OkeyRelayStuck", "3m", waiting="2x5"),
    fires("OkeyRelayUncertain", "15m", uncertain="0+90x20"),
    is_quiet("OkeyRelayUncertain", "15m", uncertain="0+20x20"),
    fires("OkeyEngineNotScraped", "4m"),
    is_quiet("OkeyEngineNotScraped", "4m", waiting="0x5"),
    # Nothing of ours tells anything any more.
    fires("OkeyEngineNotScraped", "60m", engine_lag="0+2x5", waiting="0x5"),
    fires("OkeyWalletNotScraped", "4m", waiting="0x5"),
    is_quiet("OkeyWalletNotScraped", "4m", chain_key="0x5"),
    fires("OkeyBotsNotScraped", "4m", engine_lag="0+2x5"),
    is_quiet("OkeyBotsNotScraped", "4m", bots_lag="0+2x5"),
    fires("OkeyTableQuarantined", "2m", quarantined="1x5"),
    is_quiet("OkeyTableQuarantined", "2m", quarantined="0x5"),
    fires("OkeyTablesNotLoaded", "12m", unloaded="7x15"),
    is_quiet("OkeyTablesNotLoaded", "12m", unloaded="7x5 0x10"),
    fires("OkeyLobbyListOld", "4m", list_as_of="0+60x2 120x10"),
    is_quiet("OkeyLobbyListOld", "4m", list_as_of="0+60x10"),
    fires("OkeyLobbyNotCounting", "10m", uncounted="0+5x20"),
    is_quiet("OkeyLobbyNotCounting", "10m", uncounted="3x20"),
    fires("OkeyLobbyNotScraped", "6m"),
    is_quiet("OkeyLobbyNotScraped", "6m", list_as_of="0+60x10"),
    # A week is 604,800 s; the tests' clock begins at 0.
    fires("OkeyCertificateEndsSoon", "15m", ends="600000x20"),
    is_quiet("OkeyCertificateEndsSoon", "15m", ends="700000x20"),
    fires("OkeyCertificateEnded", "15m", ends="600x20"),
    is_quiet("OkeyCertificateEnded", "15m", ends="1200x20"),
    fires("OkeyServiceBusy", "15m", busy="0+1x20"),
    is_quiet("OkeyServiceBusy", "15m", busy="7x20"),
    fires("OkeyPlayersRateLimited", "45m", too_fast="0+600x50"),
    is_quiet("OkeyPlayersRateLimited", "45m", too_fast="0+60x50"),
    fires("OkeyHouseBankLow", "10m", bank="-9000000x20", floor="-10000000x20"),
    fires("OkeyHouseBankLow", "10m", bank="-11000000x20", floor="-10000000x20"),
    is_quiet("OkeyHouseBankLow", "10m", bank="500000x20", floor="-10000000x20"),
    fires("OkeyShardsUnowned", "4m", unowned="0 85x5", lease_age="1x6"),
    # For as long as a take-over lasts nobody has them.
    is_quiet("OkeyShardsUnowned", "4m", unowned="0x2 85 0x5", lease_age="1x8"),
    is_quiet(
        "OkeyShardsUnowned",
        "4m",
        unowned="85x6",
        lease_age="30+60x6",
        unowned_elsewhere="0x6",
        lease_age_elsewhere="1x6",
    ),
)

GOOD_AND_BAD: Final = {
    "command-success": (
        'okey_engine_commands_total{code="OK"}',
        'okey_engine_commands_total{code="DATABASE_AWAY"}',
    ),
    "command-latency": ("okey_engine_command_seconds", "0.25"),
    "clock-lateness": ("okey_engine_timer_late_seconds", "0.5"),
    "matches-completed": (
        'okey_engine_matches_total{outcome="CANAK_WIN"}',
        'okey_engine_matches_total{outcome="VOIDED"}',
    ),
    "wallet-success": (
        'grpc_server_handled_total{grpc_service="okey.api.wallet.v1.WalletService",grpc_code="OK"}',
        'grpc_server_handled_total{grpc_service="okey.api.wallet.v1.WalletService",'
        'grpc_code="INTERNAL"}',
    ),
    "settlement": ("okey_engine_relay_seconds", "5.0"),
    "seated-in-time": ("okey_lobby_wait_seconds", "30.0"),
}
"""Series of good and of bad events; or a histogram, and the bound of what is good."""


def traffic(name: str, each: float, bad_share: float, samples: int) -> dict[str, str]:
    """So many more events at each sample, this share of them bad."""
    first, second = GOOD_AND_BAD[name]
    good = f"0+{each * (1 - bad_share)}x{samples}"
    if "{" in first:
        return {first: good, second: f"0+{each * bad_share}x{samples}"}
    labels = 'sink="wallet", call="SettleMatch"' if name == "settlement" else ""
    comma = ", " if labels else ""
    return {
        f"{first}_count{{{labels}}}": f"0+{each}x{samples}",
        f'{first}_bucket{{{labels}{comma}le="{second}"}}': good,
    }


def burn_cases(objective: slo.Objective) -> list[Case]:
    """Fast and slow burns, one that stopped, one within the budget, one with hardly any traffic."""
    fast, slowly = slo.BURNS[0].alert, slo.BURNS[1].alert
    busy, budget = objective.least, objective.budget

    def case(alert: str, burn: float, hours: int, does_fire: bool, each: float = busy) -> Case:
        # Samples far apart for long windows, or promtool would take minutes.
        minutes = {1: 1, 6: 5}.get(hours, 30)
        series = traffic(objective.name, each, min(1.0, burn * budget), hours * 60 // minutes)
        return Case(alert, series, f"{hours}h", does_fire, every=f"{minutes}m")

    burning = case(fast, 16, 1, does_fire=True)
    stopped = {name: f"{values} {_last(values)}x60" for name, values in burning.series.items()}
    return [
        burning,
        case(fast, 7, 6, does_fire=True),
        case(fast, 4, 6, does_fire=False),
        case(fast, 16, 1, does_fire=False, each=objective.least / 600),
        Case(fast, stopped, "2h", fires=False),
        case(slowly, 3.5, 24, does_fire=True),
        case(slowly, 1.5, 72, does_fire=True),
        case(slowly, 0.5, 72, does_fire=False),
    ]


def side_by_side(case: Case, calm: Case) -> list[Case]:
    """Two environments of which one is in trouble, each in turn."""
    both = ("okey", "okey-staging")
    return [
        Case(
            case.alert,
            within(troubled, case.series) | within(spared, calm.series),
            case.at,
            fires=True,
            every=case.every,
            namespaces={troubled: True, spared: False},
        )
        for troubled, spared in (both, both[::-1])
    ]


def within(namespace: str, series: Mapping[str, str]) -> dict[str, str]:
    """The same series as scraped in this namespace, where the engine tells something anyway."""
    alive = {'okey_event_loop_lag_seconds_count{job="engine"}': "0+1x100"}
    return {_labelled(name, namespace): values for name, values in (alive | dict(series)).items()}


def _labelled(name: str, namespace: str) -> str:
    metric, _, labels = name.rstrip("}").partition("{")
    return f'{metric}{{namespace="{namespace}"{", " if labels else ""}{labels}}}'


def rules_of(objective: slo.Objective, folder: Path) -> Path:
    """A file with the rules that this objective needs."""
    groups = slo.rules()["groups"]
    assert isinstance(groups, list)
    kept = [one for one in groups if one["name"] in (f"okey-slo-{objective.name}", "okey-slo-burn")]
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": kept}))
    return file


def _last(values: str) -> float:
    step, _, samples = values.removeprefix("0+").partition("x")
    return float(step) * int(samples)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_promtool_finds_nothing_wrong(file: Path) -> None:
    assert promtool.check(file) == ""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_alerts_fire_when_they_should_and_only_then(file: Path, tmp_path: Path) -> None:
    alerts = alerts_of(file)
    cases = [case for case in CASES if case.alert in alerts]

    assert promtool.unexpected(file, cases, tmp_path) == ""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_alert_tells_whose_trouble_it_is(file: Path, tmp_path: Path) -> None:
    """One Prometheus may scrape production and staging: neither hides nor stands for the other."""
    alerts = alerts_of(file)
    cases = [
        case
        for trouble in CASES
        if trouble.alert in alerts and trouble.fires
        for calm in CASES
        if calm.alert == trouble.alert and not calm.fires
        for case in side_by_side(trouble, calm)
    ]

    assert promtool.unexpected(file, cases, tmp_path) == ""


@pytest.mark.parametrize("objective", slo.OBJECTIVES, ids=lambda objective: objective.name)
def test_each_environment_has_budgets_of_its_own(objective: slo.Objective, tmp_path: Path) -> None:
    burning = burn_cases(objective)[0]
    calm = Case(burning.alert, traffic(objective.name, objective.least, 0, 60), "1h", fires=False)

    rules = rules_of(objective, tmp_path)
    assert promtool.unexpected(rules, side_by_side(burning, calm), tmp_path) == ""


@pytest.mark.parametrize("objective", slo.OBJECTIVES, ids=lambda objective: objective.name)
def test_burning_budgets_are_told(objective: slo.Objective, tmp_path: Path) -> None:
    assert promtool.unexpected(rules_of(objective, tmp_path), burn_cases(objective), tmp_path) == ""


def test_every_alert_is_tried_both_ways() -> None:
    burns = {burn.alert for burn in slo.BURNS}
    for alert in {alert for file in FILES for alert in alerts_of(file)} - burns:
        assert {case.fires for case in CASES if case.alert == alert} == {True, False}, alert
    assert set(GOOD_AND_BAD) == {objective.name for objective in slo.OBJECTIVES}


def test_a_case_that_comes_out_otherwise_is_seen(tmp_path: Path) -> None:
    wrong = Case("OkeyTableQuarantined", {"okey_engine_quarantined_tables": "1x5"}, "2m", False)

    assert "OkeyTableQuarantined" in promtool.unexpected(RULES / "tables.yaml", [wrong], tmp_path)


def alerts_of(file: Path) -> set[str]:
    groups = yaml.safe_load(file.read_text("utf-8"))["groups"]
    return {rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule}
