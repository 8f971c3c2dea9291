"""Which series that alerts and dashboards read are missing on the page of a fresh process.

Prometheus sees no increase in a counter that begins at 1, so the first failure of each kind after
each restart would be missed. What is looked for follows from the expressions themselves.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

import promql_parser
from prometheus_client.parser import text_string_to_metric_families

from tests.deploy.manifests import DEPLOY
from tests.deploy.test_rules import RULES, rules_of

ADDED: Final = {"le", "job", "instance", "namespace", "pod"}
"""Labels of histograms and of scraping, which no counter of ours has."""

PAIRED: Final = "okey_engine_relay_seconds"
"""Its sink follows from its call, so not every pair of values can be."""
_GROWING: Final = ("counter", "histogram")

Labels = dict[str, str]


def read_by_people() -> frozenset[str]:
    """Every expression of our rules and dashboards."""
    rules = {rule["expr"] for path in RULES.glob("*.yaml") for rule in rules_of(path)}
    return frozenset(rules | set(_of_dashboards()))


def unborn(service: str, page: str, expressions: Iterable[str]) -> list[str]:
    """What the expressions select of a service's counters and histograms and its page has not."""
    kinds, series = _read(page)
    found = set[str]()
    for selector in (each for expression in expressions for each in _selectors(expression)):
        name = str(selector.name)
        if kinds.get(re.sub(r"_(total|bucket|count|sum)$", "", name)) in _GROWING:
            found |= set(_missing(service, selector, series[name]))
    return sorted(found)


def _missing(service: str, selector: Any, series: list[Labels]) -> Iterator[str]:
    name, matchers = str(selector.name), list(selector.matchers.matchers)
    for called in (each for each in matchers if each.name == "grpc_service"):
        if f"okey.api.{service}." not in called.value:
            return  # of another service
        matchers.remove(called)
        series = [each for each in series if re.fullmatch(called.value, each["grpc_service"])]
    if not series:
        yield f"{name}: no series at all"
    for matcher in matchers:
        if matcher.op == promql_parser.MatchOp.NotEqual:
            if all(each.get(matcher.name) == matcher.value for each in series):
                yield f'{name}: only {matcher.name}="{matcher.value}"'
        elif matcher.name not in ADDED and re.fullmatch(r"[\w|]+", matcher.value):
            for value in matcher.value.split("|"):
                yield from _without(name, series, matcher.name, value)


def _without(name: str, series: list[Labels], label: str, value: str) -> Iterator[str]:
    """Where the value is missing: beside each of the other labels' values that there are."""
    if name.startswith(PAIRED):
        if all(each[label] != value for each in series):
            yield f'{name}: no {label}="{value}"'
        return
    there = {tuple(sorted(each.items())) for each in series}
    for each in series:
        wanted = {**each, label: value}
        if tuple(sorted(wanted.items())) not in there:
            yield f"{name}{wanted}"


def _selectors(expression: str) -> Iterator[Any]:
    found: list[Any] = []

    def look(part: promql_parser.Expr) -> bool:
        if isinstance(part, promql_parser.VectorSelector):
            found.append(part)
        return True

    promql_parser.walk(promql_parser.parse(expression), look)
    yield from found


def _read(page: str) -> tuple[dict[str, str], dict[str, list[Labels]]]:
    """The kind of each family, and each name's series without those of ``le``."""
    kinds, series = dict[str, str](), defaultdict[str, list[Labels]](list)
    for family in text_string_to_metric_families(page):
        kinds[family.name] = family.type
        for sample in family.samples:
            labels = {name: value for name, value in sample.labels.items() if name != "le"}
            if labels not in series[sample.name]:
                series[sample.name].append(labels)
    return kinds, series


def _of_dashboards() -> Iterator[str]:
    def expressions(part: Any) -> Iterator[str]:
        if isinstance(part, dict):
            if isinstance(part.get("expr"), str):
                yield part["expr"]
            for each in part.values():
                yield from expressions(each)
        elif isinstance(part, list):
            for each in part:
                yield from expressions(each)

    for file in (DEPLOY / "dashboards").glob("*.json"):
        for expression in expressions(json.loads(file.read_text("utf-8"))):
            yield expression.replace("$__rate_interval", "5m")
