"""YAML as a person would write it."""

from collections.abc import Iterable

import yaml


class _Plain(yaml.SafeDumper):
    """No anchors; lines are kept as lines."""

    def ignore_aliases(self, data: object) -> bool:
        """Write everything out."""
        return True


def _lines(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Plain.add_representer(str, _lines)


class _Once(_Plain):
    """What stands in several places is written out in the first; the others refer to it."""

    def ignore_aliases(self, data: object) -> bool:
        """Names and numbers are written out everywhere."""
        return not isinstance(data, dict | list) or not data


def made_from(source: str, *documents: object) -> str:
    """The documents, under a line that says what to change instead of them."""
    return _made_from(source, documents, _Plain)


def made_once_from(source: str, document: object) -> str:
    """The same for a document whose parts stand in several places: each is written once."""
    return _made_from(source, [document], _Once)


def _made_from(source: str, documents: Iterable[object], dumper: type[_Plain]) -> str:
    head = f"# Made by tools/manifests from {source}; change that, not this file.\n"
    return head + "---\n".join(
        yaml.dump(one, Dumper=dumper, sort_keys=False, width=110) for one in documents
    )
