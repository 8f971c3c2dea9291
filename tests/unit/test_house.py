"""The figures of the repository's own size and prose."""

from pathlib import Path

import pytest

from tools.house import code, prose
from tools.house.files import Imports, Module, modules_in

ROOT = Path(__file__).parents[2]


def module(path: str, text: str) -> Module:
    return Module(path, text)


def test_a_module_of_a_library_is_named_as_it_is_imported() -> None:
    assert module("libs/okey/rules/tile.py", "").name == "okey.rules.tile"
    assert module("services/engine/__init__.py", "").name == "services.engine"


def test_imports_for_types_alone_do_not_count() -> None:
    text = "from a import b\nif TYPE_CHECKING:\n    import c\ndef f():\n    import d\n"
    known = frozenset({"a", "a.b", "c", "d"})
    assert module("e.py", text).imports(known) == {"a.b", "d"}


def test_the_longest_chain_goes_from_the_top_down() -> None:
    top, middle, bottom = (
        module("top.py", "import bottom\nimport middle"),
        module("middle.py", "import bottom"),
        module("bottom.py", ""),
    )
    assert Imports([bottom, top, middle]).longest() == ["top", "middle", "bottom"]
    assert code.with_one_importer([bottom, top, middle]) == ["middle"]


def test_repeated_lines_are_counted_on_both_sides() -> None:
    run = "".join(f"line_{number} = {number}\n" for number in range(code.RUN))
    assert code.repeated_lines([module("a.py", f"x = 1\n{run}"), module("b.py", run)]) == 12
    assert code.repeated_lines([module("a.py", run)]) == 0


def test_a_class_name_in_two_modules_is_told_with_both() -> None:
    found = code.names_twice([module("a.py", "class Seat: ..."), module("b.py", "class Seat: ...")])
    assert found == {"Seat": ["a.py", "b.py"]}


def test_settings_are_found_below_the_settings_class_of_the_library() -> None:
    text = "class Own(BaseSettings):\n    port: int\nclass Wider(Own):\n    pace_ms: int\n"
    assert code.settings([module("a.py", text)]) == {"port", "pace_ms"}


def test_words_are_counted_in_sentences_alone() -> None:
    page = (
        "# A heading\n\nOne two three. Four `five six`!\n\n```sh\nseven\n```\n\n| eight | nine |\n"
    )
    assert prose.sentences(page) == [3, 2]


@pytest.mark.parametrize("text", ["The table reads its rows.", "Carries a call.", "It was drawn."])
def test_sentences_with_a_verb_pass(text: str) -> None:
    assert prose.has_verb(text)


def test_a_heading_has_no_verb() -> None:
    assert not prose.has_verb("The ledger of chips.")


def test_every_module_of_the_repository_can_be_read() -> None:
    assert len(modules_in(ROOT, "services", "libs")) > 100
