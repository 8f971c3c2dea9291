"""What an environment sets of its own at the edge: ``edge/settings.yaml`` in its overlay.

``make manifests`` makes a component of that folder, which the overlay lists after
``components/edge`` (docs/deploy.md). Without it the overlay has that one's: no page may call.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, PositiveInt

from tools.manifests.envoy import Edge, bootstrap, deployed
from tools.manifests.envoy_limits import DEFAULTS
from tools.manifests.envoy_parts import Json
from tools.manifests.origins import origin

SETTINGS: Final = "edge/settings.yaml"
_ENVOY: Final = "envoy.yaml"

Limited = Literal[
    "connections", "streams_per_connection", "heap_bytes", "calls_per_s", "calls_burst"
]


class EdgeSettings(BaseModel):
    """Pages that may call, and limits other than ``envoy_limits.DEFAULTS``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    origins: tuple[Annotated[str, AfterValidator(origin)], ...] = ()
    limits: Mapping[Limited, PositiveInt] = {}

    @classmethod
    def read(cls, file: Path) -> "EdgeSettings":
        """Raises ``pydantic.ValidationError``, which says what is wrong with which value."""
        return cls.model_validate(yaml.safe_load(file.read_text("utf-8")) or {})

    def edge(self) -> Edge:
        """The edge that is deployed with them."""
        changes: dict[str, int] = {str(name): value for name, value in self.limits.items()}
        return deployed(self.origins, replace(DEFAULTS, **changes))

    def component(self) -> dict[str, Json]:
        """The files of a component that puts this edge in place of the other, by name."""
        generator = {"name": "edge-envoy", "behavior": "merge", "files": [_ENVOY]}
        kustomization: Json = {
            "apiVersion": "kustomize.config.k8s.io/v1alpha1",
            "kind": "Component",
            "configMapGenerator": [generator],
        }
        return {"kustomization.yaml": kustomization, _ENVOY: bootstrap(self.edge())}
