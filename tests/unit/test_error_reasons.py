"""Every reason that a caller may see stands in docs/api.md with its status, and means one thing.

The reasons of named errors are read from the classes, those that are written without a class from
the source.
"""

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import okey
import okey_client
import okey_runtime
import services
from okey.errors import AlreadyExists, OkeyError, Refused
from okey_runtime.errors import code_of
from tools.reference import guide

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (okey, okey_runtime, okey_client, services)
# Such a sentence of a proto's comment lists reasons; a comma or a full stop ends each.
LISTED_IN_PROTO = re.compile(r"\b(?:Reasons|Declines): ([^.]*)\.")
COMPOUND = re.compile(rf"\b{guide.REASON}_[A-Z]+\b")

BY_NAME = {"SEAT_LEFT"}
"""Reasons that no class and no `ErrorInfo(...)` names: they travel as text until they are sent."""


def our_modules() -> Iterator[ModuleType]:
    """Every module of ours but stubs, migrations and scripts, imported."""
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not re.search(r"^okey\.api\b|\.migrations\b|\.__main__$", found.name):
                yield importlib.import_module(found.name)


def named_errors() -> list[type[OkeyError]]:
    """Every error class of ours, the root and the categories too; not those that tests define."""
    assert len(list(our_modules())) > 100, "the walk has missed whole packages"
    ours = {package.__name__ for package in PACKAGES}
    found, left = set[type[OkeyError]](), [OkeyError]
    while left:
        error = left.pop()
        found.add(error)
        left += error.__subclasses__()
    return [error for error in found if error.__module__.partition(".")[0] in ours]


def status_of(error: type[OkeyError]) -> str:
    return code_of(error.__new__(error)).name


def statuses(errors: Iterable[type[OkeyError]]) -> dict[str, set[str]]:
    """Reason -> the statuses it comes with; more than one is a contradiction."""
    found = defaultdict[str, set[str]](set)
    for error in errors:
        found[error.reason].add(status_of(error))
    return dict(found)


def contradictions(errors: Iterable[type[OkeyError]]) -> list[str]:
    """Reasons of classes that share no category, so that one reason would mean two things."""
    return sorted(reason for reason, codes in statuses(errors).items() if len(codes) > 1)


def reasons_without_class() -> set[str]:
    """Reasons that the code writes into `ErrorInfo` or a status itself, as literals."""
    found = set()
    for top in ("libs/okey_runtime", "libs/okey_client", "services"):
        for path in sorted((ROOT / top).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call):
                    found |= _literal_reasons(node)
    return found


def _literal_reasons(call: ast.Call) -> set[str]:
    name = ast.unparse(call.func).rpartition(".")[2]
    values: list[ast.expr] = []
    if name == "ErrorInfo":
        values = [keyword.value for keyword in call.keywords if keyword.arg == "reason"]
    elif name in ("_status", "RpcFailure"):
        values = call.args[1:2]
    return {
        value.value
        for value in values
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value
    }


def documented() -> dict[str, str]:
    """Reason -> status, from the tables of docs/api.md."""
    found = guide.reasons(guide.PAGE.read_text("utf-8"))
    return {name: reason.status for name, reason in found.items()}


def test_every_reason_is_documented_and_every_documented_one_exists() -> None:
    in_code = {error.reason for error in named_errors()} | reasons_without_class() | BY_NAME
    in_page = documented()
    assert sorted(in_code - in_page.keys()) == [], "missing in docs/api.md"
    assert sorted(in_page.keys() - in_code) == [], "no longer in the code"


def test_documented_statuses_are_those_that_are_sent() -> None:
    page = documented()
    wrong = {
        reason: codes
        for reason, codes in statuses(named_errors()).items()
        if codes != {page[reason]}
    }
    assert wrong == {}


def test_one_reason_has_one_status() -> None:
    assert contradictions(named_errors()) == []


def test_reasons_are_upper_snake_case() -> None:
    odd = [e.reason for e in named_errors() if not re.fullmatch(guide.REASON, e.reason)]
    assert odd == []


def test_protos_promise_only_reasons_that_exist() -> None:
    known = documented()
    unknown = []
    for path in sorted((ROOT / "protos/okey").rglob("*.proto")):
        comments = re.sub(r"\n\s*//", "", path.read_text("utf-8"))
        for sentence in LISTED_IN_PROTO.findall(comments):
            unknown += [
                f"{path.name}: {reason}"
                for reason in COMPOUND.findall(sentence)
                if reason not in known
            ]
    assert unknown == []


def test_reasons_that_travel_as_text_are_in_the_source() -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "services").rglob("*.py"))
    assert [reason for reason in BY_NAME if f'"{reason}"' not in source] == []


class _Closed(Refused):
    reason = "CLOSED"


class _ClosedToo(_Closed):
    pass


class _ClosedOtherwise(AlreadyExists):
    reason = "CLOSED"


def test_a_reason_of_two_categories_is_found() -> None:
    assert contradictions([_Closed, _ClosedToo]) == []
    assert contradictions([_Closed, _ClosedOtherwise]) == ["CLOSED"]


def test_errors_of_tests_are_not_ours() -> None:
    assert _Closed not in named_errors()


def test_a_literal_reason_is_found() -> None:
    call = ast.parse('x.ErrorInfo(reason="GONE", domain="okey")', mode="eval").body
    assert isinstance(call, ast.Call)
    assert _literal_reasons(call) == {"GONE"}
