"""Every rule of docs/rules.md has a test that names it, and no test names a rule that is not there.

A test names its rules at the beginning of its docstring: `H3, H4: what it shows`. Hypothesis state
machines do so in the docstrings of their rules and invariants. Everything is read from the source.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from okey.rules.rule_set import RuleSet

ROOT = Path(__file__).resolve().parents[2]
RULE_ID = r"(?:[TUWHÇKMRO]\d+)"
RULE_ROW = re.compile(rf"^\| ({RULE_ID}) \| (S|D|S/D) \|", re.MULTILINE)
DECISION_ROW = re.compile(rf"^\| ({RULE_ID}) \| (?!S \||D \||S/D \|).*\| (.*) \|$", re.MULTILINE)
NAMED_RULES = re.compile(rf"({RULE_ID}(?:, {RULE_ID})*):")
HYPOTHESIS_STEPS = {"rule", "invariant", "initialize"}


def rules_of_the_book(book: str) -> dict[str, str]:
    """Rule id -> S, D or S/D, from the rule tables; an id may have one row only."""
    rows = RULE_ROW.findall(book)
    assert len(rows) == len(dict(rows)), "a rule id has two rows"
    return dict(rows)


def is_test(node: ast.AST) -> bool:
    """Whether a node is a test function or a step of a Hypothesis state machine."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    calls = {
        decorator.func.id
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name)
    }
    return node.name.startswith("test_") or bool(calls & HYPOTHESIS_STEPS)


def rules_named_by_tests(tests: Path) -> Iterator[tuple[str, str]]:
    """Rule id and place of every rule that a test below the folder names."""
    for path in sorted(tests.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not is_test(node):
                continue
            named = NAMED_RULES.match(ast.get_docstring(node) or "")
            if named:
                place = f"{path.relative_to(tests)}:{node.lineno}"
                yield from ((rule, place) for rule in named[1].split(", "))


def unknown_rules(book: str, tests: Path) -> list[str]:
    rules = rules_of_the_book(book)
    return [
        f"{rule} at {place}" for rule, place in rules_named_by_tests(tests) if rule not in rules
    ]


def untested_rules(book: str, tests: Path) -> list[str]:
    named = {rule for rule, _ in rules_named_by_tests(tests)}
    return [rule for rule in rules_of_the_book(book) if rule not in named]


def unlisted_decisions(book: str) -> list[str]:
    """The D and S/D rules that the list of decisions leaves out."""
    listed = {rule for rule, _ in DECISION_ROW.findall(book)}
    return [
        rule for rule, mark in rules_of_the_book(book).items() if "D" in mark and rule not in listed
    ]


def missing_holders(book: str) -> list[str]:
    """What the list of decisions names as holding one, but does not exist in the code."""
    holders = {
        name
        for _, holder in DECISION_ROW.findall(book)
        for name in re.findall(r"`([^`]+)`", holder)
        if name.startswith(("RuleSet.", "okey.", "services."))
    }
    return sorted(name for name in holders if not exists(name))


def exists(name: str) -> bool:
    """Whether `RuleSet.field`, or a dotted module, function, class or attribute, is there."""
    owner, _, attribute = name.rpartition(".")
    if owner == "RuleSet":
        return attribute in RuleSet.__dataclass_fields__
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return bool(owner) and exists(owner) and hasattr(resolve(owner), attribute)
    return True


def resolve(name: str) -> object:
    """The module, or attribute of one, that a dotted name means."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        owner, _, attribute = name.rpartition(".")
        return getattr(resolve(owner), attribute)


def the_book() -> str:
    return (ROOT / "docs/rules.md").read_text("utf-8")


def test_every_rule_has_a_test() -> None:
    assert untested_rules(the_book(), ROOT / "tests") == []


def test_every_rule_named_by_a_test_is_in_the_book() -> None:
    assert unknown_rules(the_book(), ROOT / "tests") == []


def test_every_decision_is_listed() -> None:
    assert unlisted_decisions(the_book()) == []


def test_every_holder_of_a_decision_exists() -> None:
    assert missing_holders(the_book()) == []


def test_every_number_of_the_rule_set_is_in_the_book() -> None:
    book = the_book()
    assert [name for name in RuleSet.__dataclass_fields__ if f"`RuleSet.{name}`" not in book] == []


def test_the_book_is_complete() -> None:
    """A row that the expression does not read would be a rule that nobody checks."""
    counts = {"T": 9, "U": 14, "W": 5, "H": 13, "Ç": 12, "K": 11, "M": 10, "R": 7, "O": 2}
    rules = rules_of_the_book(the_book())
    assert {letter: sum(rule[0] == letter for rule in rules) for letter in counts} == counts


BOOK = """
| id | | rule |
|---|---|---|
| T1 | S | Tiles. |
| Ç2 | S/D | Kasa. |
| U3 | D | Okeys. |

| id | decision | held by |
|---|---|---|
| U3 | may be discarded | `okey.rules.tile.Tile` |
"""


def plant_test(tests: Path, body: str) -> None:
    tests.mkdir(exist_ok=True)
    (tests / "test_x.py").write_text(body, "utf-8")


def test_an_untested_rule_is_found(tmp_path: Path) -> None:
    plant_test(tmp_path, 'def test_a():\n    """T1, U3: shown."""\n')
    assert untested_rules(BOOK, tmp_path) == ["Ç2"]


def test_a_rule_in_passing_or_in_a_helper_does_not_count(tmp_path: Path) -> None:
    body = 'def test_a():\n    """Shows T1: all."""\ndef helper():\n    """U3: no test."""\n'
    plant_test(tmp_path, body)
    assert untested_rules(BOOK, tmp_path) == ["T1", "Ç2", "U3"]


def test_async_methods_and_state_machines_count(tmp_path: Path) -> None:
    body = (
        'class TestA:\n    async def test_a(self):\n        """T1: a."""\n'
        'class Machine:\n    @rule()\n    def draw(self):\n        """U3: b."""\n'
        '    @invariant()\n    def kasa(self):\n        """Ç2: c."""\n'
    )
    plant_test(tmp_path, body)
    assert untested_rules(BOOK, tmp_path) == []


def test_a_rule_that_is_not_in_the_book_is_found(tmp_path: Path) -> None:
    plant_test(tmp_path, 'def test_a():\n    """T1, T99: shown."""\n')
    assert unknown_rules(BOOK, tmp_path) == ["T99 at test_x.py:1"]


def test_an_unlisted_decision_is_found() -> None:
    assert unlisted_decisions(BOOK) == ["Ç2"]


def test_a_holder_that_does_not_exist_is_found() -> None:
    gone = ["RuleSet.no_such_field", "okey.rules.tile.no_such", "okey.no_such.function"]
    held = ["RuleSet.kasa_percent", "okey.rules.tile.Tile", "okey.rules"]
    rows = "".join(f"| T1 | x | `{name}`, see `note` |\n" for name in gone + held)
    assert missing_holders(rows) == sorted(gone)
