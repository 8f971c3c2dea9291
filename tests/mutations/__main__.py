"""Apply each mutation to a copy of the tree and run the test that must miss what was taken out.

``python -m tests.mutations [WORD ...]`` runs those whose names hold one of the words. It ends with
1 if a mutation's test stayed green, broke for another reason than a failed test, or was red
without the mutation.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import track

from tests.mutations.catalogue import MUTATIONS, Mutation

ROOT: Final = Path(__file__).parents[2]
COPIED: Final = ("libs", "services", "tests", "protos", "deploy", "pyproject.toml")
TEST_FAILED: Final = 1
TIMEOUT_S: Final = 300


class MutationStale(Exception):
    """The text that a mutation replaces stands not exactly once in its file."""


def copy_tree(to: Path) -> None:
    """A copy of what tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            unneeded = shutil.ignore_patterns("__pycache__", ".hypothesis")
            shutil.copytree(source, to / name, ignore=unneeded)
        else:
            shutil.copy(source, to / name)


def mutated(text: str, mutation: Mutation) -> str:
    """The file's text after the edit. Raises ``MutationStale``."""
    if text.count(mutation.before) != 1:
        raise MutationStale(
            f"{mutation.name}: {mutation.before!r} stands {text.count(mutation.before)} times in "
            f"{mutation.path}: name the text that stands there now"
        )
    return text.replace(mutation.before, mutation.after)


def run_tests(tree: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run tests of the copy, and nothing else of this repository."""
    # An editable install points at the repository itself; the copy's own folders come first.
    code = (
        "import sys; sys.path[:0] = ['libs', '.']; import pytest; "
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "-q", "-x", "-p", "no:cacheprovider", "-m", "", *tests]
    return subprocess.run(
        command, cwd=tree, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def verdict(tree: Path, mutation: Mutation) -> str:
    """OK, or what is wrong; the tree is as before afterwards."""
    path = tree / mutation.path
    original = path.read_text(encoding="utf-8")
    path.write_text(mutated(original, mutation), encoding="utf-8")
    try:
        done = run_tests(tree, [mutation.test])
    finally:
        path.write_text(original, encoding="utf-8")
    if done.returncode == TEST_FAILED:
        return "OK"
    return f"ended with {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"


def main() -> int:
    """Run the chosen mutations; the exit status."""
    words = sys.argv[1:]
    chosen = [each for each in MUTATIONS if not words or any(word in each.name for word in words)]
    console = Console(width=max(Console().width, 100))
    with tempfile.TemporaryDirectory(prefix="okey-mutations-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        sound = run_tests(tree, sorted({each.test for each in chosen}))
        if sound.returncode:
            console.print(f"red without any mutation:\n{sound.stdout[-2000:]}{sound.stderr[-500:]}")
            return 1
        missed = 0
        for each in track(chosen, "mutating", console=console):
            found = verdict(tree, each)
            missed += found != "OK"
            word = "red, as it must be" if found == "OK" else f"[bold]NOT RED[/bold] {found}"
            console.print(f"{each.name}: {each.test.partition('::')[2]}: {word}")
    console.print(f"{len(chosen) - missed} of {len(chosen)} mutations make their test red")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
