"""Custom resources held against the published schemas of their operators, unknown fields refused.

The schemas come as models, installed with the development packages. Those pass over a field that
they do not know, as the API server would silently drop it; so what was read is compared with what
was written.
"""

import importlib
from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel, JsonValue, ValidationError

from tests.deploy.manifests import Manifest

_MODELS: Final = {
    "cert-manager.io/v1": "cloudcoil.models.cert_manager.v1",
    "keda.sh/v1alpha1": "cloudcoil.models.keda.v1alpha1",
    "monitoring.coreos.com/v1": "cloudcoil.models.prometheus_operator.v1",
}


def is_custom(manifest: Manifest) -> bool:
    """Whether Kubernetes itself does not know the kind."""
    group = str(manifest["apiVersion"]).partition("/")[0]
    return "." in group and not group.endswith(".k8s.io")


def faults(manifest: Manifest) -> list[str]:
    """What is wrong with a custom resource, one line each."""
    name = f"{manifest['kind']}"
    module = _MODELS.get(str(manifest["apiVersion"]))
    if module is None:
        return [f"{name}: no schema for {manifest['apiVersion']}"]
    model = getattr(importlib.import_module(module), name, None)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return [f"{name}: {manifest['apiVersion']} has no such kind"]
    try:
        read = model.model_validate(manifest)
    except ValidationError as error:
        return [f"{name}: {one['loc']}: {one['msg']}" for one in error.errors()]
    known = read.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return [f"{name}: {path} is no field of it" for path in _lost(manifest, known)]


def _lost(written: JsonValue, read: JsonValue, path: str = "") -> Iterator[str]:
    """Where something was written that nothing was read of."""
    if isinstance(written, dict) and isinstance(read, dict):
        for key, value in written.items():
            if key not in read:
                yield f"{path}/{key}"
            else:
                yield from _lost(value, read[key], f"{path}/{key}")
    elif isinstance(written, list) and isinstance(read, list):
        for number, (value, other) in enumerate(zip(written, read, strict=True)):
            yield from _lost(value, other, f"{path}/{number}")
