"""YAML as a person would write it."""

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


def made_from(source: str, *documents: object) -> str:
    """The documents, under a line that says what to change instead of them."""
    head = f"# Made by tools/manifests from {source}; change that, not this file.\n"
    return head + "---\n".join(_dump(one) for one in documents)


def _dump(document: object) -> str:
    return yaml.dump(document, Dumper=_Plain, sort_keys=False, width=110)
