"""Prints the table; see the package's page."""

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tools.house import code, prose
from tools.house.files import modules_in

PRODUCT = ("services", "libs")
ROOT = Path(__file__).resolve().parents[2]


def figures(root: Path) -> dict[str, int]:
    """Each figure by its name, of the checkout at ``root``."""
    product, tests = modules_in(root, *PRODUCT), modules_in(root, "tests")
    found: dict[str, int] = {}
    for group, (count, lines) in code.lines_by_group([*product, *tests]).items():
        found |= {f"{group}: modules": count, f"{group}: lines": lines}
    names = code.settings(product)
    folder, entries = code.crowded_folders([*product, *tests])[0]
    pages = [page.read_text("utf-8") for page in prose.docs(root)]
    return found | {
        "product: modules": len(product),
        "product: lines": sum(module.lines for module in product),
        "tests: modules": len(tests),
        "tests: lines": sum(module.lines for module in tests),
        "tests: lines of support": code.support_lines(tests),
        "median lines of a module": code.median_lines(product),
        "modules with one importer": len(code.with_one_importer(product)),
        "modules in the longest chain of imports": code.import_depth(product),
        "public classes with a name used twice": len(code.names_twice(product)),
        "modules over 400 lines": len(code.long_modules(product)),
        "functions over 40 lines": len(code.long_functions(product)),
        "repeated lines, product": code.repeated_lines(product),
        "repeated lines, tests": code.repeated_lines(tests),
        f"entries of the fullest folder ({folder})": entries,
        "settings": len(names),
        "settings that no manifest, test or page names": len(code.unused_settings(root, names)),
        "reasons of errors": len(code.error_reasons(product)),
        "words of a sentence in docs, p90": prose.p90_words(pages),
        "docstrings without a verb": len(prose.docstrings_without_verb(product)),
    }


def _table(now: dict[str, int], before: dict[str, int]) -> Table:
    table = Table(title="The house")
    for heading, justify in (
        ("figure", "left"),
        ("before", "right"),
        ("now", "right"),
        ("change", "right"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for name in dict.fromkeys([*now, *before]):
        was, is_ = before.get(name), now.get(name)
        change = f"{(is_ - was) / was:+.1%}" if was and is_ is not None else ""
        table.add_row(name, *("" if f is None else f"{f:,}" for f in (was, is_)), change)
    return table


def main() -> None:
    """Print the table that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout (default: this one)")
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    parser.add_argument("--before", type=Path, help="figures kept earlier, shown beside")
    parser.add_argument("--list", action="store_true", help="name the places behind the figures")
    asked = parser.parse_args()
    now = figures(asked.root)
    before = json.loads(asked.before.read_text("utf-8")) if asked.before else {}
    if asked.json:
        asked.json.write_text(json.dumps(now, indent=1) + "\n", "utf-8")
    console = Console()
    console.print(_table(now, before))
    if asked.list:
        _print_places(console, asked.root)


def _print_places(console: Console, root: Path) -> None:
    product = modules_in(root, *PRODUCT)
    for heading, places in (
        ("modules with one importer", code.with_one_importer(product)),
        (
            "names used twice",
            [f"{n}: {', '.join(p)}" for n, p in code.names_twice(product).items()],
        ),
        ("modules over 400 lines", code.long_modules(product)),
        ("functions over 40 lines", code.long_functions(product)),
        ("unused settings", code.unused_settings(root, code.settings(product))),
        ("docstrings without a verb", prose.docstrings_without_verb(product)),
    ):
        console.print(f"\n[bold]{heading}[/bold]")
        for place in places:
            console.print(f"  {place}", highlight=False)


if __name__ == "__main__":
    main()
