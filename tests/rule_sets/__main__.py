"""Write the golden file of a new version: ``python -m tests.rule_sets 2027.01``."""

import json
import sys

from okey.rules.rule_set import RULE_SETS
from tests.rule_sets import FOLDER, outcomes

version = sys.argv[1]
lines = [
    f" {json.dumps(name)}: {json.dumps(outcome)}"
    for name, outcome in outcomes(RULE_SETS[version]).items()
]
with (FOLDER / f"{version}.json").open("x", encoding="utf-8") as file:
    file.write("{\n" + ",\n".join(lines) + "\n}\n")
