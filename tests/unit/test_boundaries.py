"""Who may import whom, and how long a module may get; read from the source, so nothing is imported.

Every check is a function of a root folder: it runs on the repository, where it must find nothing,
and on a small bad tree, where it must find exactly the bad line.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# The parts of the standard library that have no clock, no randomness, no I/O and no global state.
PURE_STDLIB = {
    "__future__",
    "abc",
    "array",
    "bisect",
    "collections",
    "collections.abc",
    "dataclasses",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "hmac",
    "itertools",
    "math",
    "operator",
    "re",
    "statistics",
    "string",
    "struct",
    "types",
    "typing",
}
IMPURE_BUILTINS = {"__import__", "eval", "exec", "input", "open", "print"}
SERVICES = {"lobby", "engine", "wallet", "rating", "bots", "gateway", "standalone", "okeyctl"}


def modules(folder: Path, without: Path | None = None) -> Iterator[Path]:
    """The Python files below a folder, sorted, leaving out one folder."""
    for path in sorted(folder.rglob("*.py")):
        if without is None or without not in path.parents:
            yield path


def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of every import in a file, wherever in the file it stands.

    `from a import b` gives `a.b`, for `b` may be a module. A relative import gives a name that
    starts with a dot, which no rule allows.
    """
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def is_pure(name: str) -> bool:
    """Whether the core may import this: itself without its stubs, or a pure standard module."""
    if is_within(name, "okey"):
        return not is_within(name, "okey.api")
    return name in PURE_STDLIB or name.rpartition(".")[0] in PURE_STDLIB


def impure_core(root: Path) -> list[str]:
    """What libs/okey (its stubs apart) does that a pure core must not: imports and built-ins."""
    found = []
    for path in modules(root / "libs/okey", without=root / "libs/okey/api"):
        place = path.relative_to(root)
        found += [
            f"{place}:{line} imports {name}" for line, name in imports(path) if not is_pure(name)
        ]
        found += [
            f"{place}:{node.lineno} uses {node.id}"
            for node in ast.walk(syntax(path))
            if isinstance(node, ast.Name) and node.id in IMPURE_BUILTINS
        ]
    return found


def service_crossings(root: Path) -> list[str]:
    """Imports of one service by another: they talk gRPC, or start one another as processes."""
    found = []
    for folder in sorted((root / "services").glob("*/")):
        for path in modules(folder):
            found += [
                f"{path.relative_to(root)}:{line} imports {name}"
                for line, name in imports(path)
                if is_within(name, "services") and not is_within(name, f"services.{folder.name}")
            ]
    return found


def upward_imports(root: Path) -> list[str]:
    """Imports of a service by a library, and of the client by the runtime: both are circles."""
    forbidden = {"okey_runtime": ("services", "okey_client"), "okey_client": ("services",)}
    return [
        f"{path.relative_to(root)}:{line} imports {name}"
        for library, packages in forbidden.items()
        for path in modules(root / "libs" / library)
        for line, name in imports(path)
        if any(is_within(name, package) for package in packages)
    ]


CHECKS = [impure_core, service_crossings, upward_imports]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_repository_keeps_the_boundaries(check: Callable[[Path], list[str]]) -> None:
    assert check(ROOT) == []


def test_the_checks_look_at_the_repository() -> None:
    """An empty folder would pass every check."""
    assert len(list(modules(ROOT / "libs/okey", without=ROOT / "libs/okey/api"))) > 5
    assert {path.name for path in (ROOT / "services").iterdir() if path.is_dir()} >= {"wallet"}


def plant(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


FORBIDDEN_IN_CORE = """
    time random asyncio os os.path secrets grpc google.protobuf sqlalchemy
    okey.api.common.v1.common_pb2 okey_runtime.clock services.wallet
"""


@pytest.mark.parametrize("name", FORBIDDEN_IN_CORE.split())
def test_core_may_not_import(name: str, tmp_path: Path) -> None:
    plant(tmp_path, "libs/okey/rules/deal.py", f"def f():\n    import {name}\n")
    assert impure_core(tmp_path) == [f"libs/okey/rules/deal.py:2 imports {name}"]


def test_core_may_not_import_by_the_from_form_or_relatively(tmp_path: Path) -> None:
    text = "from time import time\nfrom okey import api\nfrom . import tile\nfrom ..x import y\n"
    plant(tmp_path, "libs/okey/rules/deal.py", text)
    assert [line.rpartition(" ")[2] for line in impure_core(tmp_path)] == [
        "time.time",
        "okey.api",
        "..tile",
        "..x.y",
    ]


def test_core_may_not_use_impure_builtins(tmp_path: Path) -> None:
    plant(tmp_path, "libs/okey/deal.py", "seed = open('/dev/urandom')\n")
    assert impure_core(tmp_path) == ["libs/okey/deal.py:1 uses open"]


def test_core_may_import_itself_and_pure_modules(tmp_path: Path) -> None:
    text = "import hashlib\nfrom collections.abc import Iterator\nfrom okey.rules import tile\n"
    plant(tmp_path, "libs/okey/rules/deal.py", text)
    plant(tmp_path, "libs/okey/api/common/v1/common_pb2.py", "import google.protobuf\n")
    assert impure_core(tmp_path) == []


@pytest.mark.parametrize("importer", sorted(SERVICES))
def test_service_may_not_import_another(importer: str, tmp_path: Path) -> None:
    other = "wallet" if importer != "wallet" else "engine"
    text = f"from services.{importer} import x\nfrom services import {other}\n"
    plant(tmp_path, f"services/{importer}/app.py", text)
    expected = f"services/{importer}/app.py:2 imports services.{other}"
    assert service_crossings(tmp_path) == [expected]


@pytest.mark.parametrize("library", ["okey_runtime", "okey_client"])
def test_library_may_not_import_a_service(library: str, tmp_path: Path) -> None:
    plant(tmp_path, f"libs/{library}/x.py", "import services.wallet.app\n")
    assert upward_imports(tmp_path) == [f"libs/{library}/x.py:1 imports services.wallet.app"]


def test_runtime_may_not_import_the_client(tmp_path: Path) -> None:
    plant(tmp_path, "libs/okey_runtime/x.py", "from okey_client import play\n")
    assert upward_imports(tmp_path) == ["libs/okey_runtime/x.py:1 imports okey_client.play"]
