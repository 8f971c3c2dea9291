"""What Prometheus reads of the lobby beside calls and latencies.

Queues are told by variant, mode and number of seats; stakes and turn times would be too many.
"""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from okey.rules.variant import Mode, Variant
from okey_runtime.metrics import LATENCY_BUCKETS_S, counter, histogram

_QUEUE: Final = {
    "variant": [variant.name.lower() for variant in Variant],
    "mode": [mode.name.lower() for mode in Mode],
    "seats": ("2", "4"),
}

QUEUE_LENGTH: Final = Gauge(
    "okey_lobby_queue_length",
    "Quick-match tickets that wait, as Redis tells every replica alike: take the max, not the sum.",
    tuple(_QUEUE),
)
WAIT_SECONDS: Final = histogram(
    "okey_lobby_wait_seconds",
    "How long quick-match tickets waited until their players were seated.",
    _QUEUE,
    (0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600),
)
MATCHES: Final = counter(
    "okey_lobby_matches_total",
    "Groups that were seated, by kind: at a new table, at one that waited, or with bots (W5).",
    {**_QUEUE, "kind": ("new_table", "waiting_table", "with_bots")},
)
SEATED: Final = Counter(
    "okey_lobby_tickets_seated_total", "Quick-match tickets that became a seat."
)
DROPPED: Final = counter(
    "okey_lobby_tickets_dropped_total",
    "Quick-match tickets whose player was refused a seat, by reason.",
    # The engine's and the wallet's reasons; another one is added once it comes.
    {"reason": ("INSUFFICIENT_FUNDS", "ACCOUNT_FROZEN", "ACCOUNT_CLOSED", "SEATED_ELSEWHERE")},
)
TAKEN_BACK: Final = Counter(
    "okey_lobby_groups_taken_back_total",
    "Groups whose seats were given back, since not all of them could be seated.",
)
RATINGS_MISSED: Final = Counter(
    "okey_lobby_ratings_missed_total",
    "Asking for ratings in vain, by status; those players count as beginners meanwhile.",
    ["code"],
)
TICKET_WATCHERS: Final = Gauge(
    "okey_lobby_ticket_watchers", "Open streams of this replica that follow a ticket."
)
PASS_SECONDS: Final = Histogram(
    "okey_lobby_pass_seconds",
    "How long a matching pass over one bucket takes.",
    buckets=LATENCY_BUCKETS_S,
)

LISTED: Final = Gauge("okey_lobby_tables_listed", "Open tables in the newest list.")
LIST_AS_OF: Final = Gauge(
    "okey_lobby_table_list_as_of_seconds", "When the newest list was made, since the epoch."
)
LIST_RENEWALS: Final = Counter(
    "okey_lobby_table_list_renewals_total",
    "Lists made by this replica, by what became of them: published, or overtaken by a newer one.",
    ["outcome"],
)
LIST_WATCHERS: Final = Gauge(
    "okey_lobby_table_list_watchers", "Open streams of this replica that follow a list of tables."
)
LIMITED: Final = Counter(
    "okey_lobby_limited_total",
    "Calls refused because their player is too fast at tables or tickets.",
    ["reason"],
)
UNLIMITED: Final = Counter(
    "okey_lobby_unlimited_total", "Calls that were let through uncounted while Redis was away."
)
