"""docs/operations.md says what is so: its arithmetic, its alerts, and what it names."""

import re
from math import ceil
from pathlib import Path
from typing import Final

import pytest
import yaml

from okey_runtime.config import ServiceSettings
from services.lobby.app import MAX_CONNECTIONS as LOBBY_TO_REDIS
from tests.deploy.code import KEEPERS
from tests.deploy.manifests import DEPLOY, ROOT, Platform, build, name_of

PAGE: Final = (ROOT / "docs" / "operations.md").read_text("utf-8")
SURGE: Final = 1
"""A roll-out starts one pod more of each."""
SPARE: Final = 100
"""Connections to PostgreSQL that are left for others."""


def most_pods() -> dict[str, int]:
    """How many pods production scales each service to."""
    found: dict[str, int] = {}
    for one in build(DEPLOY / "overlays" / "prod"):
        spec = one.get("spec")
        if one["kind"] in ("ScaledObject", "HorizontalPodAutoscaler") and isinstance(spec, dict):
            most = spec.get("maxReplicaCount", spec.get("maxReplicas"))
            assert isinstance(most, int)
            found[name_of(one)] = most
    return found


def each_connects() -> int:
    default = ServiceSettings.model_fields["database_connections"].default
    assert isinstance(default, int)
    return default


def most_while_rolling_out(service: str) -> int:
    """With those that were told to end and still hold their connections."""
    pods = most_pods()[service]
    spec = Platform.read(build(DEPLOY / "overlays" / "prod")).workloads[service].spec
    ending = ceil(spec.template.spec.termination_grace_period_seconds / spec.min_ready_seconds)
    return pods + SURGE + min(pods, ending)


@pytest.mark.parametrize("service", KEEPERS)
def test_connections_of_each_service_are_what_production_scales_to(service: str) -> None:
    most = most_while_rolling_out(service)

    assert f"| {service} | {most_pods()[service]} | {most} | {most * each_connects()} |" in PAGE


def test_connections_together_are_the_sum_of_all() -> None:
    together = sum(most_while_rolling_out(name) * each_connects() + 1 for name in KEEPERS)
    [allowed] = re.findall(r"Set `max_connections` to (\d+)", PAGE)

    assert f"| **{together}** |" in PAGE
    assert int(allowed) >= together + SPARE


def test_connections_to_redis_are_those_of_all_lobbies() -> None:
    lobbies = most_while_rolling_out("lobby")

    told = f"{lobbies} lobbies × {LOBBY_TO_REDIS}\n= {lobbies * LOBBY_TO_REDIS:,} of"
    assert told in PAGE


def test_alerts_that_the_page_names_exist() -> None:
    written = {
        rule["alert"]
        for file in (DEPLOY / "rules").glob("*.yaml")
        for group in yaml.safe_load(file.read_text("utf-8"))["groups"]
        for rule in group["rules"]
        if "alert" in rule
    }

    assert set(re.findall(r"`(Okey[A-Z][A-Za-z]+)`", PAGE)) <= written


def test_classes_of_secrets_are_those_that_pods_mount() -> None:
    mounted = set(
        re.findall(
            r"secretProviderClass: (\S+)",
            (DEPLOY / "components" / "external-secrets" / "kustomization.yaml").read_text("utf-8"),
        )
    )

    assert mounted == {name for name in mounted if f"`{name}`" in PAGE}


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))])
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []
