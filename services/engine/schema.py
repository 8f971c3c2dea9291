"""The tables of the engine's database; the migrations make them, this module names them.

``journal`` is the truth and its primary key is the fence: whoever appends to a table says which row
comes next, and only one can have it. Everything else is written in the same transaction as the row
that it follows from, or can be rebuilt from the rows.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    false,
    text,
)

metadata: Final = MetaData()

# PostgreSQL shall sort ids by bytes, as SQLite does: pages of tables are cut by id.
_TableId: Final = String(26).with_variant(String(26, collation="C"), "postgresql")

tables: Final = Table(
    "tables",
    metadata,
    Column("table_id", _TableId, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    # Closed, but the sinks may not have been told everything yet.
    Column("is_closed", Boolean, nullable=False, server_default=false()),
    # Closed and told: nothing is left to do, so it is not loaded any more.
    Column("is_retired", Boolean, nullable=False, server_default=false()),
    Column("closed_ms", BigInteger),
    # Its rows stand in the archive.
    Column("is_archived", Boolean, nullable=False, server_default=false()),
)
open_tables: Final = Index("open_tables", tables.c.is_retired, tables.c.table_id)
_WAITS_FOR_ARCHIVE: Final = text("is_retired AND NOT is_archived")
archivable: Final = Index(
    "archivable",
    tables.c.closed_ms,
    postgresql_where=_WAITS_FOR_ARCHIVE,
    sqlite_where=_WAITS_FOR_ARCHIVE,
)

journal: Final = Table(
    "journal",
    metadata,
    Column("table_id", _TableId, ForeignKey("tables.table_id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("player", String(64)),
    Column("request_id", String(64)),
    Column("request_hash", LargeBinary),
    # When the next clock of the table rings after this row, 0 for none: known before any replay.
    # Not there in rows of the first versions.
    Column("deadline_ms", BigInteger),
    # Where the row stands among those of all tables; becomes visible in this order.
    Column("position", BigInteger),
)
by_position: Final = Index("journal_position", journal.c.position, unique=True)

# Where each round stands among its table's rows; ``players`` by seat, with commas. Rounds that a
# version without this index dealt are missing.
rounds: Final = Table(
    "rounds",
    metadata,
    Column("table_id", _TableId, ForeignKey("tables.table_id"), primary_key=True),
    Column("match_no", BigInteger, primary_key=True, autoincrement=False),
    Column("round_no", BigInteger, primary_key=True, autoincrement=False),
    Column("first_seq", BigInteger, nullable=False),
    # Not set while the round is played.
    Column("last_seq", BigInteger),
    Column("match_id", String(64), nullable=False),
    Column("players", String(300), nullable=False),
    Column("commitment", LargeBinary, nullable=False),
)

# One row. Whoever commits rows takes their positions here first and holds the row until the commit:
# so no position becomes visible after a higher one.
feed: Final = Table(
    "feed",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("last", BigInteger, nullable=False),
    # Of the rows up to this one some stand in the archive; above it none does.
    Column("archived", BigInteger, nullable=False, server_default=text("0")),
)

# The rows of a table that was closed long ago, in one piece.
archive: Final = Table(
    "archive",
    metadata,
    Column("table_id", _TableId, ForeignKey("tables.table_id"), primary_key=True),
    Column("archived_ms", BigInteger, nullable=False),
    Column("row_count", BigInteger, nullable=False),
    Column("payload", LargeBinary, nullable=False),
)

# Hashes of the codes that let people into a private table; the codes themselves stand nowhere.
invites: Final = Table(
    "invites",
    metadata,
    Column("table_id", _TableId, ForeignKey("tables.table_id"), primary_key=True),
    Column("code_hash", LargeBinary, primary_key=True),
    Column("made_ms", BigInteger, nullable=False),
)

# A cache: what replaying a table's rows up to ``seq`` comes to.
snapshots: Final = Table(
    "snapshots",
    metadata,
    Column("table_id", _TableId, ForeignKey("tables.table_id"), primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("version", String(64), nullable=False),
    Column("payload", LargeBinary, nullable=False),
)

# Tables that an audit or an operator has stopped.
quarantined: Final = Table(
    "quarantined",
    metadata,
    Column("table_id", _TableId, ForeignKey("tables.table_id"), primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("reason", String(600), nullable=False),
)

switches: Final = Table(
    "switches",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("is_on", Boolean, nullable=False),
    Column("operator", String(64), nullable=False),
    Column("at_ms", BigInteger, nullable=False),
)

# Tables that were voided although their rows do not replay: the only trace of it on our side.
voided: Final = Table(
    "voided",
    metadata,
    Column("table_id", _TableId, ForeignKey("tables.table_id"), primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("operator", String(64), nullable=False),
    Column("reason", String(500), nullable=False),
    Column("match_ids", String(2_000), nullable=False),
    Column("is_done", Boolean, nullable=False, server_default=false()),
)

seated: Final = Table(
    "seated",
    metadata,
    # W3: a player sits once.
    Column("player", String(64), primary_key=True),
    Column("table_id", _TableId, nullable=False),
)

cursors: Final = Table(
    "cursors",
    metadata,
    Column("table_id", _TableId, primary_key=True),
    Column("sink", String(16), primary_key=True),
    Column("seq", BigInteger, nullable=False),
)

members: Final = Table(
    "members",
    metadata,
    Column("engine", String(100), primary_key=True),
    Column("address", String(255), nullable=False),
    # When everything was last right at its tables, by its own steady clock.
    Column("renewed_ms", BigInteger, nullable=False),
    # One run of the engine: a name that is used again is another member.
    Column("incarnation", String(32), nullable=False, server_default=text("''")),
    # When the database last heard of it, by the database's clock: from then on its lease runs.
    Column("leased_ms", BigInteger, nullable=False, server_default=text("0")),
    # Whether it takes shards: not before it serves, nor when it leaves.
    Column("is_taking", Boolean, nullable=False, server_default=false()),
    # The kinds of events that it can read: their numbers in journal.proto, with commas.
    Column("events", String(2_000), nullable=False, server_default=text("''")),
)

# Which engine should have which tables; who can write to one is said by the journal's key alone.
shards: Final = Table(
    "shards",
    metadata,
    Column("shard", SmallInteger, primary_key=True, autoincrement=False),
    # Nobody, where it is null.
    Column("owner", String(100)),
    # Since when clocks of its tables may stand still; null while all go.
    Column("since_ms", BigInteger),
    # An operator moved it there.
    Column("is_pinned", Boolean, nullable=False, server_default=false()),
)

# The only place where display names stand; erasing a row here erases the name.
players: Final = Table(
    "players",
    metadata,
    Column("player", String(64), primary_key=True),
    Column("display_name", String(64), nullable=False),
)

# Tokens that were revoked: a player's issued before a moment, or one by its id. A row leaves once
# no token that it means can live any longer.
revocations: Final = Table(
    "revocations",
    metadata,
    Column("kind", String(8), primary_key=True),
    Column("id", String(128), primary_key=True),
    Column("issued_before_ms", BigInteger, nullable=False),
    Column("until_ms", BigInteger, nullable=False),
    # A newer session of the player did it.
    Column("is_replaced", Boolean, nullable=False),
    # Where the newest change of the row stands among all; becomes visible in this order.
    Column("position", BigInteger, nullable=False, unique=True),
)
revocations_until: Final = Index("revocations_until", revocations.c.until_ms)

# One row, which the writer of a revocation holds until the commit, as with ``feed``.
revocation_positions: Final = Table(
    "revocation_positions",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("last", BigInteger, nullable=False),
)

# Each player's newest session, where the platform allows a single one.
sessions: Final = Table(
    "sessions",
    metadata,
    Column("player", String(64), primary_key=True),
    # The token's session id or else its token id, with a letter that says which.
    Column("session", String(130), nullable=False),
    Column("issued_ms", BigInteger, nullable=False),
    Column("until_ms", BigInteger, nullable=False),
)
sessions_until: Final = Index("sessions_until", sessions.c.until_ms)
