"""Golden tables: each version of the rule set plays and pays as on the day it was released."""

import json

import pytest

from okey.rules.rule_set import RULE_SETS
from tests.matches import KINDS
from tests.rule_sets import FOLDER, SEEDS, outcome_of


def test_every_version_has_its_golden_tables() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == RULE_SETS.keys()


@pytest.mark.parametrize("version", RULE_SETS)
@pytest.mark.parametrize("kind", KINDS)
def test_tables_go_and_pay_as_when_the_version_was_released(version: str, kind: str) -> None:
    golden = json.loads((FOLDER / f"{version}.json").read_text("utf-8"))
    for seed in SEEDS:
        assert outcome_of(kind, seed, RULE_SETS[version]) == golden[f"{kind} {seed}"], seed
