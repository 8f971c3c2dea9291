"""What Prometheus reads of the engine; labels are few and closed, never ids."""

from enum import Enum
from typing import Final, get_args

from prometheus_client import Counter, Gauge, Histogram

from okey.api.engine.v1 import engine_pb2
from okey.rules.variant import Mode, Variant
from okey.table.commands import Command
from okey.table.events import Event
from okey.table.reasons import ForfeitReason, OutcomeKind, RoundResult
from okey_runtime.metrics import LATENCY_BUCKETS_S, counter

RELAY_BUCKETS_S: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

OK: Final = "OK"
"""The code of a command that counts; of others it is the reason of the refusal."""
ERROR: Final = "ERROR"
"""The code of a command on which the engine itself failed."""
FAULTS: Final = (
    *(ERROR, "DATABASE_AWAY", "DATABASE_BUSY", "ENGINE_STOPPING", "TABLE_RELOADING"),
    "TABLE_QUARANTINED",
)
"""Codes of commands that failed by a fault of ours, not of the player."""


def _names(values: type[Enum]) -> list[str]:
    return [value.name for value in values]


_KINDS_OF_TABLES: Final = {"variant": _names(Variant), "mode": _names(Mode)}
CALLS: Final = {
    "wallet": (
        *("HoldStake", "VoidHold", "StartMatch", "ForfeitSeat", "SettleMatch"),
        *("VoidMatch", "CloseTable"),
    ),
    "rating": ("RecordMatch", "RecordForfeit"),
}
"""What each sink is asked for."""

TABLES: Final = Gauge(
    "okey_engine_tables",
    "Tables in memory, by variant, mode and state.",
    ("variant", "mode", "state"),
)
QUARANTINED: Final = Gauge(
    "okey_engine_quarantined_tables",
    "Tables that stand still: their journal fails, or an audit or an operator stopped them.",
)
OVERDUE: Final = Gauge(
    "okey_engine_overdue_tables",
    "Tables whose clock should have rung five seconds ago or earlier, whatever keeps it from it.",
)
COMMANDS: Final = counter(
    "okey_engine_commands_total",
    "Commands decided, by kind and by OK or the reason of the refusal.",
    # Reasons of refusals are added as they come: they are the players' doing, and many.
    {"kind": [kind.__name__ for kind in get_args(Command)], "code": (OK, *FAULTS)},
)
COMMAND_SECONDS: Final = Histogram(
    "okey_engine_command_seconds",
    "From the arrival of a command to its commit, accepted ones.",
    buckets=LATENCY_BUCKETS_S,
)
TIMER_LATE_SECONDS: Final = Histogram(
    "okey_engine_timer_late_seconds",
    "How long after its deadline a table's clock rang.",
    buckets=LATENCY_BUCKETS_S,
)
COMMIT_SECONDS: Final = Histogram(
    "okey_engine_commit_seconds", "How long one commit took.", buckets=LATENCY_BUCKETS_S
)
COMMIT_ROWS: Final = Histogram(
    "okey_engine_commit_rows",
    "Rows in one commit.",
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
)
INVITES_REFUSED: Final = Counter(
    "okey_engine_invites_refused_total",
    "Times that somebody was not let into a private table, by reason.",
    ("reason",),
)
RELAY_WAITING: Final = Gauge(
    "okey_engine_relay_waiting_rows", "Rows that a sink has not answered yet.", ("sink",)
)
RELAY_OLDEST_SECONDS: Final = Gauge(
    "okey_engine_relay_oldest_waiting_seconds",
    "How long the oldest row that a sink has not answered has waited; 0 if none waits.",
    ("sink",),
)
RELAY_SECONDS: Final = Histogram(
    "okey_engine_relay_seconds",
    "From a row's commit to the sink's definite answer, by what was asked for.",
    ("sink", "call"),
    buckets=RELAY_BUCKETS_S,
)
for _sink, _calls in CALLS.items():
    for _call in _calls:
        RELAY_SECONDS.labels(_sink, _call)
RELAY_ANSWERS: Final = counter(
    "okey_engine_relay_answers_total",
    "Answers of sinks: OK, DECLINED, UNCERTAIN.",
    {"sink": CALLS, "code": (OK, "DECLINED", "UNCERTAIN")},
)
WATCHERS: Final = Gauge("okey_engine_watchers", "Open streams.")
WATCHERS_CUT: Final = counter(
    "okey_engine_watchers_cut_total",
    "Streams ended by the engine, by reason.",
    {"reason": engine_pb2.StreamEndReason.keys()[1:]},
)
BOT_ANSWERS: Final = counter(
    "okey_engine_bot_answers_total",
    "What became of AI turns: MOVE, NEUTRAL, REFUSED, NO_ANSWER.",
    {"code": ("MOVE", "NEUTRAL", "REFUSED", "NO_ANSWER")},
)
EVENTS: Final = counter(
    "okey_engine_events_total",
    "Events, by type.",
    {"type": [kind.__name__ for kind in get_args(Event)]},
)
TIMEOUTS: Final = Counter("okey_engine_timeouts_total", "Turns whose time ran out (U5).")
STAND_INS: Final = Counter("okey_engine_stand_ins_total", "Seats that a stand-in took over (U7).")
RETURNS: Final = Counter(
    "okey_engine_returns_total", "Players who took their seat back from a stand-in (U8)."
)
FORFEITS: Final = counter(
    "okey_engine_forfeits_total",
    "Seats given up, by how: GAVE_UP (M9), ABANDONED (U9).",
    {"reason": _names(ForfeitReason)},
)
ROUNDS: Final = counter(
    "okey_engine_rounds_total",
    "Rounds that ended, by how.",
    {**_KINDS_OF_TABLES, "outcome": _names(RoundResult)},
)
MATCHES: Final = counter(
    "okey_engine_matches_total",
    "Matches that ended, by how; VOIDED where every stake went back.",
    {**_KINDS_OF_TABLES, "outcome": (*_names(OutcomeKind), "VOIDED")},
)
TABLE_TAKEOVERS: Final = Counter(
    "okey_engine_table_takeovers_total",
    "Tables that an engine took over: from another, from itself before a restart, or after a loss.",
)
STANDSTILLS: Final = Counter(
    "okey_engine_standstills_total",
    "Times in which nothing could be decided, by why it was noticed.",
    ("reason",),
)
STANDSTILL_SECONDS: Final = Counter(
    "okey_engine_standstill_seconds_total", "How long nothing could be decided, in all."
)
STANDING_STILL_SECONDS: Final = Gauge(
    "okey_engine_standing_still_seconds",
    "For how long nothing could be decided until now; 0 while all goes on.",
)
SNAPSHOTS: Final = Counter("okey_engine_snapshots_total", "Snapshots of tables that were kept.")
ARCHIVED: Final = Counter("okey_engine_archived_tables_total", "Tables moved to the archive.")
UNLOADED: Final = Gauge(
    "okey_engine_unloaded_tables", "Tables that came to the engine and are still to be loaded."
)
SHARDS: Final = Gauge("okey_engine_shards", "Shards whose tables this engine serves.")
UNOWNED_SHARDS: Final = Gauge(
    "okey_engine_unowned_shards", "Shards that no living engine has, as this engine saw it last."
)
MEMBERS: Final = Gauge("okey_engine_members", "Engines that live, as this engine saw it last.")
SHARDS_GAINED: Final = counter(
    "okey_engine_shards_gained_total",
    "Shards that came to this engine: HANDED_OVER by another one, CLAIMED where nobody had them.",
    {"reason": ("HANDED_OVER", "CLAIMED")},
)
SHARDS_LOST: Final = counter(
    "okey_engine_shards_lost_total",
    "Shards that went from this engine: HANDED_OVER, or LAPSED with its lease.",
    {"reason": ("HANDED_OVER", "LAPSED")},
)
LEASE_AGE_SECONDS: Final = Gauge(
    "okey_engine_lease_age_seconds", "How long ago this engine's lease was renewed."
)
FORWARDED: Final = Counter(
    "okey_engine_forwarded_calls_total",
    "Calls that were passed on to the engine of their table, by what came of it.",
    ("code",),
)
REDIRECTED: Final = Counter(
    "okey_engine_redirected_streams_total", "Streams that were told where their table is."
)
LOST_SEEDS: Final = counter(
    "okey_engine_lost_seeds_total",
    "Seeds whose key was not in the file when their table was loaded, by what followed: "
    "MATCH_VOIDED, SEED_REPLACED.",
    {"outcome": ("MATCH_VOIDED", "SEED_REPLACED")},
)
UNSEALED_MEMBERS: Final = Gauge(
    "okey_engine_unsealed_members",
    "Living engines that tell of no seal key, as an engine with keys sees them.",
)
OLDER_SEALS: Final = Gauge(
    "okey_engine_older_sealed_tables",
    "Tables in memory whose seed is encrypted with another key than the newest of the file.",
)
