"""The Python files of a checkout, each parsed, and which of them import each other."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

GENERATED: Final = ("libs/okey/api/", "libs/buf/")
"""Made from protos/: neither read nor counted."""
_LIBS: Final = "libs/"


@dataclass(frozen=True)
class Module:
    """One Python file."""

    path: str
    """From the repository's root, with slashes."""
    text: str

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.count("\n")

    @property
    def group(self) -> str:
        """The service, library or kind of tests that it belongs to, such as ``services/engine``."""
        return "/".join(self.path.split("/")[:2]) if self.path.count("/") > 1 else self.folder

    @property
    def folder(self) -> str:
        """The folder that it lies in, from the root."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """By which it is imported, such as ``okey.rules.tile``."""
        dotted = self.path.removeprefix(_LIBS).removesuffix(".py").replace("/", ".")
        return dotted.removesuffix(".__init__")

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text, self.path)

    def imports(self, known: frozenset[str]) -> set[str]:
        """Names of the known modules that it imports, but for types alone."""
        found: set[str] = set()
        for node in _beyond_typing(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                # From a package either a module of it or a name that it defines is imported.
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= inner & known if inner <= known else (inner & known) | {node.module}
        return (found & known) - {self.name}


def _beyond_typing(tree: ast.Module) -> Iterator[ast.AST]:
    for node in tree.body:
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            yield from ast.walk(node)


def modules_in(root: Path, *tops: str) -> list[Module]:
    """The modules that somebody wrote below these top folders, by path."""
    found = []
    for top in tops:
        for file in sorted((root / top).rglob("*.py")):
            path = file.relative_to(root).as_posix()
            if not path.startswith(GENERATED):
                found.append(Module(path, file.read_text("utf-8")))
    return found


class Imports:
    """Which module imports which."""

    def __init__(self, modules: list[Module]) -> None:
        known = frozenset(module.name for module in modules)
        self._of = {module.name: module.imports(known) for module in modules}

    def importers(self) -> dict[str, set[str]]:
        """For each module those that import it."""
        found: dict[str, set[str]] = {name: set() for name in self._of}
        for name, imported in self._of.items():
            for other in imported:
                found[other].add(name)
        return found

    def longest(self) -> list[str]:
        """The longest chain of imports, from the top down; a circle is walked once."""
        longest: dict[str, list[str]] = {}

        def below(name: str, above: frozenset[str]) -> list[str]:
            if name not in longest:
                chains = [below(other, above | {name}) for other in sorted(self._of[name] - above)]
                longest[name] = [name, *max(chains, key=len, default=[])]
            return longest[name]

        return max((below(name, frozenset()) for name in sorted(self._of)), key=len, default=[])
