"""Every kustomization builds, and what it builds is valid for every Kubernetes that we support."""

from pathlib import Path
from typing import Final

import kubernetes_validate
import pytest

from tests.deploy import custom_resources
from tests.deploy.manifests import DEPLOY, Manifest, build
from tests.deploy.mutation import CONTAINER, put
from tools.manifests.__main__ import stale

MINORS: Final = ("1.33", "1.34", "1.35", "1.36", "1.37")
"""Kubernetes minors that docs/deploy.md names as supported."""

KUSTOMIZATIONS: Final = tuple(
    sorted(
        file.parent
        for file in DEPLOY.rglob("kustomization.yaml")
        # A component is only ever built as a part of others.
        if "kind: Component" not in file.read_text()
    )
)


OVERLAYS: Final = tuple(sorted((DEPLOY / "overlays").iterdir()))


def validate(manifests: list[Manifest], minor: str) -> None:
    for manifest in manifests:
        if not custom_resources.is_custom(manifest):
            kubernetes_validate.validate(manifest, minor, strict=True)


@pytest.mark.parametrize(
    "folder", KUSTOMIZATIONS, ids=lambda folder: str(folder.relative_to(DEPLOY))
)
def test_kustomization_builds(folder: Path) -> None:
    assert build(folder)


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda folder: folder.name)
@pytest.mark.parametrize(
    "minor",
    [
        MINORS[0],
        *(pytest.param(minor, marks=pytest.mark.long) for minor in MINORS[1:-1]),
        MINORS[-1],
    ],
)
def test_overlay_is_strictly_valid(overlay: Path, minor: str) -> None:
    # The package would quietly take an older schema for a minor that it does not know.
    assert minor in {version.rpartition(".")[0] for version in _known_versions()}
    validate(build(overlay), minor)


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda folder: folder.name)
def test_custom_resources_are_strictly_valid(overlay: Path) -> None:
    custom = [one for one in build(overlay) if custom_resources.is_custom(one)]

    assert [fault for one in custom for fault in custom_resources.faults(one)] == []
    assert bool(custom) == (overlay.name != "dev")


@pytest.mark.parametrize(
    ("target", "path", "value"),
    [
        ("ScaledObject/engine", "spec/minReplicas", 3),
        ("ScaledObject/engine", "spec/triggers/0/kind", "prometheus"),
        ("Certificate/wallet", "spec/privateKey/algorithm", "DSA"),
        ("Certificate/wallet", "spec/dnsName", "wallet"),
        ("ServiceMonitor/okey", "spec/endpoints/0/ports", "metrics"),
        ("ServiceMonitor/okey", "apiVersion", "monitoring.example.com/v1"),
    ],
)
def test_validation_of_custom_resources_sees_what_is_wrong(
    target: str, path: str, value: str | int
) -> None:
    manifests = build(DEPLOY / "overlays" / "prod")

    put(target, path, value)(manifests)

    custom = [one for one in manifests if custom_resources.is_custom(one)]
    assert len([fault for one in custom for fault in custom_resources.faults(one)]) >= 1


def test_made_manifests_are_what_their_sources_give() -> None:
    assert stale() == []


def test_docs_name_the_supported_minors() -> None:
    text = (DEPLOY.parent / "docs" / "deploy.md").read_text()

    assert f"Kubernetes {MINORS[0]} to {MINORS[-1]}" in text


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec/replica", 1),
        ("spec/replicas", "one"),
        (f"{CONTAINER}/livenessProbe/grpc/port", "health"),
        (f"{CONTAINER}/securityContext/readOnlyRootFileSystem", True),
    ],
)
def test_validation_refuses_unknown_fields_and_wrong_types(path: str, value: str | int) -> None:
    engine = [one for one in build(DEPLOY / "base" / "engine") if one["kind"] == "Deployment"]
    validate(engine, MINORS[-1])

    put("Deployment/engine", path, value)(engine)

    with pytest.raises(kubernetes_validate.ValidationError):
        validate(engine, MINORS[-1])


def _known_versions() -> list[str]:
    versions: list[str] = kubernetes_validate.utils.all_versions()
    return versions
