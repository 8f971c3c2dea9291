"""Each alert fires on what it is about and stays quiet otherwise, said by Prometheus' own tool."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.deploy import promtool
from tests.deploy.alert_cases import CASES
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


def test_counters_that_are_to_be_noticed_are_born_at_0() -> None:
    """But for seeds, which are lost before anything is scraped: that alert looks for itself."""
    born_later = [
        (case.alert, series)
        for case in CASES
        for series, values in case.series.items()
        if case.fires and "_total" in series and not values.startswith("0")
    ]
    assert {alert for alert, _ in born_later} == {"OkeySealKeyLost"}


def test_a_case_that_comes_out_otherwise_is_seen(tmp_path: Path) -> None:
    wrong = Case("OkeyTableQuarantined", {"okey_engine_quarantined_tables": "1x5"}, "2m", False)

    assert "OkeyTableQuarantined" in promtool.unexpected(RULES / "tables.yaml", [wrong], tmp_path)


def alerts_of(file: Path) -> set[str]:
    groups = yaml.safe_load(file.read_text("utf-8"))["groups"]
    return {rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule}
