"""Dashboards show one environment at a time, each service has one, and Grafana is given all."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import promql_parser
import pytest
import yaml

from tests.deploy.manifests import DEPLOY, ROOT

BOARDS: Final = sorted((DEPLOY / "dashboards").glob("*.json"))
EVERYBODYS: Final = {"okey:slo_budget:ratio"}
"""Promised to all environments alike."""


def read(board: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(board.read_text("utf-8"))
    return content


def expressions(board: Path) -> Iterator[str]:
    for panel in read(board)["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def of_all_namespaces(expression: str) -> list[str]:
    """The series that are picked whatever namespace is chosen."""
    found: list[str] = []

    def look(part: promql_parser.Expr) -> bool:
        if isinstance(part, promql_parser.VectorSelector):
            chosen = [each for each in part.matchers.matchers if each.name == "namespace"]
            if [each.value for each in chosen] != ["$namespace"]:
                found.append(part.name or "")
        return True

    promql_parser.walk(promql_parser.parse(expression.replace("$__rate_interval", "1m")), look)
    return found


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.stem)
def test_every_series_is_of_the_namespace_that_is_chosen(board: Path) -> None:
    found = [name for each in expressions(board) for name in of_all_namespaces(each)]
    variables = {each["name"] for each in read(board)["templating"]["list"]}

    assert set(found) <= EVERYBODYS
    assert "namespace" in variables


def test_a_series_of_all_namespaces_is_seen() -> None:
    assert of_all_namespaces('sum(rate(a{b="c"}[$__rate_interval]))') == ["a"]
    assert of_all_namespaces('a{namespace="okey"}') == ["a"]


def test_every_service_has_a_dashboard() -> None:
    services = {path.parent.name for path in (ROOT / "services").glob("*/metrics.py")}

    assert {board.stem for board in BOARDS} == services | {"overview"}


def test_grafana_is_given_every_dashboard() -> None:
    [made] = yaml.safe_load((DEPLOY / "dashboards" / "kustomization.yaml").read_text())[
        "configMapGenerator"
    ]

    assert sorted(made["files"]) == [board.name for board in BOARDS]


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.stem)
def test_processes_shown_are_those_of_the_service(board: Path) -> None:
    shown = [each for each in expressions(board) if "process_" in each or "event_loop" in each]

    assert all(f'job="{board.stem}"' in each for each in shown)
    assert bool(shown) == (board.stem != "overview")
