"""What scales a platform names its Deployments, and asks Prometheus for what its own pods tell."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

import pytest
from pydantic import JsonValue

from tests.deploy.manifests import DEPLOY, Manifest, build, name_of, part
from tests.deploy.mutation import put
from tests.deploy.test_rules import metrics_in, metrics_of_ours

OVERLAYS: Final = tuple(sorted((DEPLOY / "overlays").iterdir()))
QUERY: Final = "spec/triggers/0/metadata/query"


def scaling_faults(manifests: list[Manifest]) -> list[str]:
    """What is wrong with the scalers, one line each."""
    deployed = {name_of(one) for one in manifests if one["kind"] == "Deployment"}
    faults = []
    for one in manifests:
        if one["kind"] in ("HorizontalPodAutoscaler", "ScaledObject"):
            target = part(one, "spec", "scaleTargetRef")["name"]
            if target not in deployed:
                faults.append(f"{name_of(one)}: there is no Deployment {target}")
        if one["kind"] == "ScaledObject":
            faults += [f"{name_of(one)}: {fault}" for fault in _query_faults(one)]
    return faults


def _query_faults(scaled: Manifest) -> Iterator[str]:
    namespace = part(scaled, "metadata")["namespace"]
    for trigger in cast("list[JsonValue]", part(scaled, "spec")["triggers"]):
        asked = part(trigger, "metadata")
        query = str(asked["query"])
        yield from (f"there is no {name}" for name in metrics_in(query) - metrics_of_ours())
        selected = re.findall(r"okey_\w+(?:\{([^}]*)\})?", query)
        if not all(f'namespace="{namespace}"' in matchers for matchers in selected):
            yield "it counts other platforms' pods too"
        if asked.get("ignoreNullValues") != "false":
            yield "no answer is taken for no load"


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda folder: folder.name)
def test_scalers_fit_what_they_scale(overlay: Path) -> None:
    assert scaling_faults(build(overlay)) == []


@pytest.mark.parametrize(
    ("target", "path", "value"),
    [
        ("HorizontalPodAutoscaler/wallet", "spec/scaleTargetRef/name", "purse"),
        ("ScaledObject/engine", "spec/scaleTargetRef/name", "motor"),
        ("ScaledObject/engine", QUERY, 'sum(okey_engine_chairs{namespace="okey"})'),
        ("ScaledObject/engine", QUERY, "sum(okey_engine_tables)"),
        ("ScaledObject/lobby", QUERY, 'sum(okey_lobby_queue_length{namespace="okey-staging"})'),
        ("ScaledObject/lobby", "spec/triggers/0/metadata/ignoreNullValues", "true"),
    ],
)
def test_a_scaler_that_does_not_fit_is_seen(target: str, path: str, value: str) -> None:
    manifests = build(DEPLOY / "overlays" / "prod")

    put(target, path, value)(manifests)

    assert len(scaling_faults(manifests)) == 1
