"""What each version of the rule set played and paid, kept for good.

``tests/data/rule_sets`` holds a file a version: tables of ``tests.matches`` by kind and seed, with
a digest of all their events as the journal stores them and what every account held in the end.
``python -m tests.rule_sets <version>`` writes the file of a new version; one that is there is
never changed.
"""

from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from okey.rules.rule_set import RuleSet
from services.engine.record import encode_events
from tests.matches import KINDS, play

FOLDER: Final = Path(__file__).resolve().parents[1] / "data" / "rule_sets"
SEEDS: Final = range(12)


def outcome_of(kind: str, seed: int, rules: RuleSet) -> dict[str, Any]:
    """A table's events as a digest, and the accounts that hold chips in the end."""
    played = play(kind, seed, rules)
    return {
        "events": sha256(encode_events(played.events)).hexdigest()[:16],
        "chips": {name: chips for name, chips in sorted(played.balances.items()) if chips},
    }


def outcomes(rules: RuleSet) -> dict[str, Any]:
    """Every table of a version's file."""
    return {f"{kind} {seed}": outcome_of(kind, seed, rules) for kind in KINDS for seed in SEEDS}
