"""Figures of the code."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Final

from tools.house.files import Imports, Module

RUN: Final = 6
"""This many equal lines in a row, blank ones and comments left out, count as repeated."""
_SUPPORT: Final = re.compile(r"(^|/)(test_[^/]+|conftest)\.py$")
_READ: Final = (".py", ".md", ".yaml", ".yml", ".toml", ".json", ".sh")


def lines_by_group(modules: Iterable[Module]) -> dict[str, tuple[int, int]]:
    """Modules and lines of each service, library and kind of tests."""
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for module in modules:
        count, lines = found[module.group]
        found[module.group] = count + 1, lines + module.lines
    return dict(sorted(found.items()))


def median_lines(modules: Iterable[Module]) -> int:
    """Lines of the module in the middle."""
    return round(median(module.lines for module in modules))


def with_one_importer(product: list[Module]) -> list[str]:
    """Modules that one other module of the product imports; a package's own list is none."""
    packages = {module.name for module in product if module.path.endswith("__init__.py")}
    importers = Imports(product).importers()
    return sorted(
        name for name, those in importers.items() if name not in packages and len(those) == 1
    )


def import_depth(product: list[Module]) -> int:
    """Modules in the longest chain of imports."""
    return len(Imports(product).longest())


def names_twice(product: Iterable[Module]) -> dict[str, list[str]]:
    """Public classes that several modules define under one name, with those modules."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in product:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(module.path)
    return {name: paths for name, paths in sorted(homes.items()) if len(paths) > 1}


def repeated_lines(modules: Iterable[Module]) -> int:
    """Lines that stand in a run of ``RUN`` or more equal ones somewhere else too; imports do not
    count.
    """
    places: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for module in modules:
        lines = list(_lines_of(module))
        for start in range(len(lines) - RUN + 1):
            places[tuple(lines[start : start + RUN])].append((module.path, start))
    repeated = {
        (path, start + offset)
        for found in places.values()
        if len(found) > 1
        for path, start in found
        for offset in range(RUN)
    }
    return len(repeated)


def _lines_of(module: Module) -> Iterator[str]:
    skipped = {
        number
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    for number, line in enumerate(module.text.splitlines(), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#") and number not in skipped:
            yield stripped


def crowded_folders(modules: Iterable[Module]) -> list[tuple[str, int]]:
    """Each folder with its entries (modules and folders), the fullest first."""
    inside: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        parts = module.path.split("/")
        for depth in range(1, len(parts)):
            if parts[depth] != "__init__.py":
                inside["/".join(parts[:depth])].add(parts[depth])
    return Counter({folder: len(entries) for folder, entries in inside.items()}).most_common()


def settings(product: Iterable[Module]) -> set[str]:
    """Names of the fields of every settings class."""
    bases: dict[str, list[str]] = {}
    fields: dict[str, set[str]] = {}
    for module in product:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
                fields[node.name] = {
                    part.target.id
                    for part in node.body
                    if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
                }
    are_settings = {"BaseSettings"}
    while grown := {name for name, of in bases.items() if are_settings & set(of)} - are_settings:
        are_settings |= grown
    found = set().union(*(fields.get(name, set()) for name in are_settings))
    return {name for name in found if not name.startswith(("_", "model_config"))}


def unused_settings(root: Path, names: Iterable[str]) -> list[str]:
    """Settings that no manifest, test or page of the docs names."""
    texts = [
        file.read_text("utf-8", errors="ignore")
        for top in ("deploy", "tests", "docs", "tools/manifests")
        for file in sorted((root / top).rglob("*"))
        if file.suffix in _READ
    ]
    words = set(re.findall(r"\w+", "\n".join([*texts, (root / "README.md").read_text("utf-8")])))
    return sorted(name for name in names if not {name, f"OKEY_{name.upper()}"} & words)


def error_reasons(product: Iterable[Module]) -> set[str]:
    """The reasons of errors that classes declare as ``reason = "…"``."""
    found = set()
    for module in product:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                found |= set(_declared(node))
    return found


def _declared(node: ast.ClassDef) -> Iterator[str]:
    for part in node.body:
        match part:
            case (
                ast.Assign(targets=[ast.Name(id="reason")], value=ast.Constant(value=str(reason)))
                | ast.AnnAssign(target=ast.Name(id="reason"), value=ast.Constant(value=str(reason)))
            ):
                yield reason


def support_lines(tests: Iterable[Module]) -> int:
    """Lines of modules below tests/ that hold no tests of their own."""
    return sum(module.lines for module in tests if not _SUPPORT.search(module.path))


def long_modules(modules: Iterable[Module], most: int = 400) -> list[str]:
    """Modules of more lines than ``most``, each with its length; a warning, no gate."""
    return [f"{module.path}: {module.lines}" for module in modules if module.lines > most]


def long_functions(modules: Iterable[Module], most: int = 40) -> list[str]:
    """Functions of more lines than ``most``, their docstring left out, as ``path:name``."""
    found = []
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length - _docstring_lines(node) > most:
                    found.append(f"{module.path}:{node.name}")
    return found


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    if ast.get_docstring(node) is None:
        return 0
    return (first.end_lineno or first.lineno) - first.lineno + 1
