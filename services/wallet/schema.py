"""The tables of the wallet's database, as queries name them; the migrations make them.

A journal is inserted as one row that carries its legs; a trigger checks them and makes postings and
balances of them. Journals, postings and requests are only ever added to, and triggers refuse
anything else (``migrations/seals``). Accounts are the running sums of their postings; holds,
matches and tables carry the states that are changed by compare-and-set. The shared accounts (house
and issuance) have postings only, so nobody waits for them.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from okey.money.account import SHARED_ACCOUNTS

metadata: Final = MetaData()

# SQLite numbers rows only in a column of exactly INTEGER.
_JournalId: Final = BigInteger().with_variant(Integer, "sqlite")
# PostgreSQL sorts by bytes, as SQLite and Python do, so that all lock in the same order.
_Name: Final = String(100).with_variant(String(100, collation="C"), "postgresql")
_Id: Final = String(64)

journals: Final = Table(
    "journals",
    metadata,
    Column("journal_id", _JournalId, Identity(always=True), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("rules_version", String(32), nullable=False),
    Column("booked_ms", BigInteger, nullable=False),
    Column("table_id", _Id),
    Column("match_id", _Id),
    Column("actor", _Id),
    Column("reason", String(500)),
    Column("reverses", _JournalId, ForeignKey("journals.journal_id"), unique=True),
    # A JSON object, account to chips, sorted by account.
    Column("legs", Text, nullable=False),
)

postings: Final = Table(
    "postings",
    metadata,
    Column("journal_id", _JournalId, ForeignKey("journals.journal_id"), primary_key=True),
    Column("account", _Name, primary_key=True),
    Column("amount", BigInteger, nullable=False),
    # Of accounts that keep a balance: the balance after it, and its number in the account.
    Column("balance_after", BigInteger),
    Column("version", BigInteger),
    CheckConstraint("amount <> 0", name="postings_move_chips"),
    CheckConstraint("balance_after >= 0", name="postings_never_overdraw"),
    CheckConstraint(
        f"(account IN ({', '.join(map(repr, map(str, SHARED_ACCOUNTS)))})) = (version IS NULL) "
        "AND (version IS NULL) = (balance_after IS NULL)",
        name="postings_keep_balances",
    ),
    UniqueConstraint("account", "version", name="postings_are_numbered"),
)

postings_by_account: Final = Index("postings_by_account", postings.c.account, postings.c.journal_id)

accounts: Final = Table(
    "accounts",
    metadata,
    Column("account", _Name, primary_key=True),
    Column("balance", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("frozen", Boolean, nullable=False),
    # Its player's id is closed: for good, and with nothing in it.
    Column("is_closed", Boolean, nullable=False, server_default=false()),
    CheckConstraint("balance >= 0", name="accounts_never_go_below_zero"),
    CheckConstraint(
        "account LIKE 'player:_%' OR account LIKE 'escrow:_%' OR account LIKE 'pot:_%' "
        "OR account LIKE 'kasa:_%'",
        name="accounts_are_of_a_kind",
    ),
)

requests: Final = Table(
    "requests",
    metadata,
    Column("idempotency_key", String(128), primary_key=True),
    Column("request_hash", String(64), nullable=False),
    Column("answered_ms", BigInteger, nullable=False),
    Column("journal_id", _JournalId, ForeignKey("journals.journal_id")),
    # What the reply says besides the journal.
    Column("pot", BigInteger, nullable=False),
    Column("kasa", BigInteger, nullable=False),
    Column("penalty", BigInteger, nullable=False),
    Column("shortfall", BigInteger, nullable=False),
    # Of a declined request instead.
    Column("decline_reason", String(40)),
    Column("decline_message", Text),
    Column("decline_hold_ids", Text),
)

tables: Final = Table(
    "tables",
    metadata,
    Column("table_id", _Id, primary_key=True),
    Column("is_closed", Boolean, nullable=False),
)

holds: Final = Table(
    "holds",
    metadata,
    Column("hold_id", String(80), primary_key=True),
    Column("state", String(16), nullable=False),
    # All empty where a hold was given back before it came.
    Column("table_id", _Id),
    Column("match_id", _Id),
    Column("player_id", _Id),
    Column("stake", BigInteger),
    Column("rules_version", String(32)),
    CheckConstraint("state IN ('held', 'committed', 'voided')", name="holds_have_a_state"),
    CheckConstraint("state = 'voided' OR stake > 0", name="holds_hold_chips"),
)

holds_by_match: Final = Index("holds_by_match", holds.c.match_id)
holds_by_table: Final = Index("holds_by_table", holds.c.table_id, holds.c.state)

matches: Final = Table(
    "matches",
    metadata,
    Column("match_id", _Id, primary_key=True),
    Column("table_id", _Id, nullable=False),
    Column("state", String(16), nullable=False),
    # Known from the start on.
    Column("variant", SmallInteger),
    Column("mode", SmallInteger),
    Column("stake", BigInteger),
    Column("kasa_share", BigInteger),
    Column("rules_version", String(32)),
    CheckConstraint(
        "state IN ('open', 'started', 'settled', 'voided')", name="matches_have_a_state"
    ),
)

matches_by_table: Final = Index("matches_by_table", matches.c.table_id, matches.c.state)

match_seats: Final = Table(
    "match_seats",
    metadata,
    Column("match_id", _Id, ForeignKey("matches.match_id"), primary_key=True),
    Column("seat", SmallInteger, primary_key=True, autoincrement=False),
    # Empty: the house paid.
    Column("payer", _Id),
    Column("is_given_up", Boolean, nullable=False),
    # What giving it up cost, and what was missing for it (M9).
    Column("penalty", BigInteger, nullable=False),
    Column("shortfall", BigInteger, nullable=False),
    CheckConstraint("payer IS NOT NULL OR NOT is_given_up", name="people_give_seats_up"),
)

approvals: Final = Table(
    "approvals",
    metadata,
    Column("approval_no", _JournalId, Identity(always=True), primary_key=True),
    Column("idempotency_key", String(128), nullable=False, unique=True),
    Column("request_hash", String(64), nullable=False),
    # A grant or a reversal, and what the player's account gets; negative where it gives.
    Column("kind", String(16), nullable=False),
    Column("account", _Name, nullable=False),
    Column("chips", BigInteger, nullable=False),
    Column("reverses", _JournalId, ForeignKey("journals.journal_id")),
    Column("requester", _Id, nullable=False),
    Column("reason", String(500), nullable=False),
    Column("requested_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    # Empty until it is decided; nobody decides what expires.
    Column("decided_by", _Id),
    Column("decided_ms", BigInteger),
    Column("decision_reason", String(500)),
    # Of an approved one: what was booked.
    Column("journal_id", _JournalId, ForeignKey("journals.journal_id"), unique=True),
    CheckConstraint(
        "state IN ('requested', 'approved', 'rejected', 'expired')", name="approvals_have_a_state"
    ),
)

approvals_by_state: Final = Index("approvals_by_state", approvals.c.state, approvals.c.approval_no)

approval_limits: Final = Table(
    "approval_limits",
    metadata,
    Column("limit_no", _JournalId, Identity(always=True), primary_key=True),
    # What one operator may move alone, since when; empty for any number of chips.
    Column("chips", BigInteger),
    Column("since_ms", BigInteger, nullable=False),
)
