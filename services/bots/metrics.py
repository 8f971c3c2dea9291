"""What Prometheus reads of the bots; how long they take is in the server's own metrics."""

from typing import Final

from okey.rules.variant import BotLevel
from okey_runtime.metrics import counter

ANSWERS: Final = counter(
    "okey_bots_answers_total",
    "Choices made, by level and by whether they were thought out: COMPLETE or CUT_SHORT.",
    {"level": [level.name for level in BotLevel], "code": ("COMPLETE", "CUT_SHORT")},
)
