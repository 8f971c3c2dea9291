"""Each limit that an attack breaks is seen, and what quiet times cost too is not blamed on it."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.attack import report
from tests.attack.gauge import Cost, kind_of
from tests.attack.inflict import Inflicted, Window
from tests.attack.judge import FEWEST_COMMANDS, Quiet, is_decided, judge, p99_ms

MIB = 1 << 20
CALM = Window(
    seconds=5.0,
    costs={"engine-1": Cost(0.5, MIB, {"services.engine hello": 5}), "envoy": Cost(0.1, 0)},
    latencies_s={"direct": [0.01] * 50, "gateway": [0.02] * 50},
    failures=[],
    others_cores=0.0,
)
QUIET = Quiet.of([CALM, CALM, CALM])


def with_engine(cost: Cost) -> Window:
    return replace(CALM, costs={**CALM.costs, "engine-1": cost})


def test_a_quiet_time_breaks_no_limit() -> None:
    verdict = judge("none", [Inflicted(CALM, [CALM])], QUIET)
    assert verdict.holds
    assert verdict.cpu_s == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("window", "broken"),
    [
        (with_engine(Cost(0.5, 32 * MIB)), "memory"),
        (with_engine(Cost(1.5, 0)), "CPU"),
        (with_engine(Cost(0.5, 0, {"uvicorn.error Invalid HTTP request": 2})), "log"),
        (with_engine(Cost(0.5, 0, {"services.engine hello": 11})), "log"),
        (with_engine(Cost(0.5, 0, has_died=True)), "engine-1 died"),
        (replace(CALM, latencies_s={"direct": [0.01] * 98 + [0.04] * 2}), "p99"),
        (replace(CALM, latencies_s={"edge": [0.01] * (FEWEST_COMMANDS - 1)}), "p99"),
        (
            replace(CALM, failures=["edge: away"]),
            "1 calls of players failed",
        ),
    ],
    ids=["memory", "cpu", "a new line", "a usual line", "death", "slow", "stalled", "failed"],
)
def test_each_limit_that_is_broken_is_named(window: Window, broken: str) -> None:
    verdict = judge("bad", [Inflicted(window, [CALM])], QUIET)
    assert verdict.broken == [broken]


def test_lines_and_cpu_of_quiet_times_are_not_the_attackers() -> None:
    window = with_engine(Cost(1.4, 0, {"services.engine hello": 10, "new": 1}))
    assert judge("mild", [Inflicted(window, [CALM])], QUIET).holds


def test_one_slow_run_of_three_is_the_machines_and_memory_of_any_run_counts() -> None:
    slow = replace(CALM, latencies_s={"direct": [1.0] * 50})
    fat = with_engine(Cost(0.5, 40 * MIB))
    verdict = judge(
        "mixed", [Inflicted(slow, [CALM]), Inflicted(fat, [CALM]), Inflicted(CALM, [CALM])], QUIET
    )
    assert verdict.broken == ["memory"]
    assert judge(
        "slow", [Inflicted(slow, [CALM]), Inflicted(slow, [CALM]), Inflicted(CALM, [CALM])], QUIET
    ).broken == ["p99"]


SLOW = replace(CALM, latencies_s={"direct": [0.02] * 50})
SLOWER = replace(CALM, latencies_s={"direct": [0.1] * 50})


def test_an_attack_is_compared_with_the_quiet_window_directly_before_it() -> None:
    """A machine that is slow for a while is so in both."""
    assert judge("drift", [Inflicted(SLOWER, [SLOWER])], QUIET).holds
    verdict = judge("slow", [Inflicted(SLOWER, [SLOW])], QUIET)
    assert verdict.broken == ["p99"]
    assert verdict.p99_ms == pytest.approx(100)
    assert verdict.quiet_p99_ms == pytest.approx(20)
    assert verdict.commands == 50


def test_one_odd_window_of_three_before_an_attack_is_the_machines() -> None:
    verdict = judge("slow", [Inflicted(SLOWER, [SLOW, SLOWER, SLOW])], QUIET)
    assert verdict.broken == ["p99"]
    assert verdict.quiet_p99_ms == pytest.approx(20)


def test_cpu_is_compared_with_what_was_used_before_the_attack() -> None:
    """Players' tables move from process to process, and so does what they cost."""
    busy = with_engine(Cost(1.6, 0))
    assert judge("calm", [Inflicted(busy, [busy, CALM, busy])], QUIET).holds
    assert judge("busy", [Inflicted(busy, [CALM, busy, CALM])], QUIET).broken == ["CPU"]


def test_the_median_run_is_told_of() -> None:
    runs = [Inflicted(SLOWER, [CALM]), Inflicted(SLOW, [CALM]), Inflicted(CALM, [SLOWER])]
    assert judge("mixed", runs, QUIET).p99_ms == pytest.approx(20)


def test_where_players_stood_still_before_an_attack_nothing_is_known_of_it() -> None:
    still = replace(CALM, latencies_s={})
    assert judge("unknown", [Inflicted(CALM, [still])], QUIET).broken == ["p99"]


@pytest.mark.parametrize(
    ("slow", "decided"),
    [
        ([False], True),
        ([True], False),
        ([True, False], False),
        ([True, True], True),
        ([True, False, False], True),
        ([True, False, True], True),
    ],
)
def test_an_attack_runs_again_until_two_runs_agree(slow: list[bool], decided: bool) -> None:
    runs = [Inflicted(SLOWER if each else CALM, [CALM]) for each in slow]
    assert is_decided(runs) is decided


def test_an_attack_that_did_not_run_holds_nothing() -> None:
    verdict = judge("none", [Inflicted(CALM, [CALM], error="it did not start")], QUIET)
    assert not verdict.holds


def test_players_who_get_nothing_done_have_no_latency_to_be_proud_of() -> None:
    assert p99_ms(replace(CALM, latencies_s={})) == math.inf


def test_a_report_of_both_times_shows_what_was_mended(tmp_path: Path) -> None:
    fat = judge("silent-direct", [Inflicted(with_engine(Cost(0.5, 40 * MIB)), [CALM])], QUIET)
    slim = judge("silent-direct", [Inflicted(CALM, [CALM], {"bytes_sent": 5_000})], QUIET)
    for name, verdict in (("before", fat), ("after", slim)):
        report.write(tmp_path / name, [verdict], QUIET)
    files = [tmp_path / name / "attack.json" for name in ("before", "after")]
    *_, row = report.side_by_side(files[0], files[1]).splitlines()
    assert "| **40 MiB engine-1**, 0.0 s" in row
    assert row.endswith(", 1.0 x |")
    assert "5 kB" in row
    *_, alone = report.side_by_side(files[0], None).splitlines()
    assert alone.endswith("| – |")
    assert json.loads(files[0].read_text())["attacks"][0]["holds"] is False


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        (
            [
                '{"event": "bad", "logger": "a", "n": 1}',
                '{"event": "bad", "logger": "a"}',
            ],
            1,
        ),
        (["Invalid frame 17 of 0x7fff", "Invalid frame 9 of 0xab12"], 1),
        (['{"event": "one", "logger": "a"}', '{"event": "two", "logger": "a"}'], 2),
    ],
)
def test_lines_that_differ_by_what_varies_are_of_one_kind(lines: list[str], kinds: int) -> None:
    assert len({kind_of(line) for line in lines}) == kinds
