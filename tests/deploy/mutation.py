"""Spoiling one place of built manifests, to show that a policy sees it."""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from pydantic import JsonValue

from tests.deploy.manifests import Manifest, name_of

Mutation: TypeAlias = Callable[[list[Manifest]], None]

CONTAINER: Final = "spec/template/spec/containers/0"


def put(target: str, path: str, value: JsonValue) -> Mutation:
    """Set what the path leads to in ``Kind/name`` (``spec/ports/0/port``); the key may be new.

    A generated name is given without its hash: ``ConfigMap/okey-common``.
    """

    def mutate(manifests: list[Manifest]) -> None:
        *parents, last = path.split("/")
        place = _walk(_find(manifests, target), parents)
        if isinstance(place, list):
            place[int(last)] = value
        else:
            place[last] = value

    return mutate


def drop(target: str, path: str = "") -> Mutation:
    """Take out what the path leads to, or the whole object where there is none."""

    def mutate(manifests: list[Manifest]) -> None:
        found = _find(manifests, target)
        if not path:
            manifests.remove(found)
            return
        *parents, last = path.split("/")
        place = _walk(found, parents)
        if isinstance(place, list):
            del place[int(last)]
        else:
            del place[last]

    return mutate


def _find(manifests: list[Manifest], target: str) -> Manifest:
    kind, name = target.split("/")
    [found] = [
        one
        for one in manifests
        if one["kind"] == kind and (name_of(one) == name or name_of(one).rpartition("-")[0] == name)
    ]
    return found


def _walk(manifest: Manifest, keys: Sequence[str]) -> Manifest | list[JsonValue]:
    place: Manifest | list[JsonValue] = manifest
    for key in keys:
        inner = place[int(key)] if isinstance(place, list) else place[key]
        if not isinstance(inner, dict | list):
            raise TypeError(f"{key} holds {inner!r}, which has no parts")
        place = inner
    return place
