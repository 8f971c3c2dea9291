"""What Prometheus reads of the bots; how long they take is in the server's own metrics."""

from typing import Final

from prometheus_client import Counter

ANSWERS: Final = Counter(
    "okey_bots_answers_total",
    "Choices made, by level and by whether they were thought out: COMPLETE or CUT_SHORT.",
    ("level", "code"),
)
