"""What an environment sets of its own at the edge: which pages may call, and its limits."""

import shutil
from pathlib import Path
from typing import Final, cast

import pytest
import yaml
from pydantic import ValidationError

from tests.deploy.manifests import DEPLOY, build, name_of
from tools.manifests import envoy
from tools.manifests.edge_settings import SETTINGS, EdgeSettings
from tools.manifests.yaml_text import made_from

WITH_EDGE: Final = ("prod", "staging")
PAGE: Final = "https://play.example.com"


def configured(overlay: Path) -> str:
    """Envoy's configuration that the overlay deploys."""
    [found] = [
        one
        for one in build(overlay)
        if one["kind"] == "ConfigMap" and name_of(one).startswith("edge-envoy")
    ]
    return cast("dict[str, dict[str, str]]", found)["data"]["envoy.yaml"]


@pytest.mark.parametrize("name", WITH_EDGE)
def test_an_environment_has_the_edge_of_its_settings(name: str) -> None:
    """By default that of the component, where no page may call."""
    overlay = DEPLOY / "overlays" / name
    file = overlay / SETTINGS
    settings = EdgeSettings.read(file) if file.exists() else EdgeSettings()

    assert yaml.safe_load(configured(overlay)) == envoy.bootstrap(settings.edge())


def test_an_overlay_sets_pages_and_limits(tmp_path: Path) -> None:
    """As docs/deploy.md says."""
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    overlay = tmp_path / "deploy" / "overlays" / "prod"
    file = overlay / SETTINGS
    file.parent.mkdir()
    file.write_text(f"origins: [{PAGE}]\nlimits: {{connections: 77, calls_per_s: 2000}}\n")
    settings = EdgeSettings.read(file)
    for name, config in settings.component().items():
        file.with_name(name).write_text(made_from(SETTINGS, config))
    kustomization = yaml.safe_load((overlay / "kustomization.yaml").read_text("utf-8"))
    kustomization["components"].append("edge")
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))

    text = configured(overlay)
    assert yaml.safe_load(text) == envoy.bootstrap(settings.edge())
    assert f"exact: {PAGE}" in text
    assert "max_active_downstream_connections: 77" in text
    assert "tokens_per_fill: 2000" in text


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "https://*.example.com",
        "play.example.com",
        "http://play.example.com",
        "https://play.example.com/",
        "https://play.example.com/page",
        "https://Play.example.com",
        "https://user@play.example.com",
        "null",
        "",
    ],
)
def test_what_is_no_origin_of_one_page_is_refused_by_its_name(origin: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(yaml.safe_dump({"origins": [origin]}))

    with pytest.raises(ValidationError) as refused:
        EdgeSettings.read(file)
    assert f"{origin!r} is no origin" in str(refused.value)


@pytest.mark.parametrize("origin", [PAGE, "https://play.example.com:8443", "http://localhost:3000"])
def test_origins_as_browsers_send_them_are_taken(origin: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(yaml.safe_dump({"origins": [origin]}))

    assert EdgeSettings.read(file).edge().origins == (origin,)


@pytest.mark.parametrize(
    "text", ["orgins: []", "limits: {connections: 0}", "limits: {headers: 1000}"]
)
def test_unknown_settings_and_limits_of_nothing_are_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(text)

    with pytest.raises(ValidationError):
        EdgeSettings.read(file)
