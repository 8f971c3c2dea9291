"""What the application's role may do on PostgreSQL, where another role owns the schema (M3, M5).

The owner runs the migrations and then grants this, so whoever holds the service's password can add
to the books but not change them. Privileges that are not listed here are taken away.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import SecretStr
from sqlalchemy import Connection, inspect, text

from okey_runtime.database import Database, parse_url
from okey_runtime.migrations import UPGRADE_LOCK_ID

PRIVILEGES: Final[Mapping[str, str]] = {
    "alembic_version": "SELECT",
    # All but the number, which is the database's to give.
    "journals": (
        "SELECT, INSERT (kind, rules_version, booked_ms, table_id, match_id, actor, reason, "
        "reverses, legs)"
    ),
    # Postings and balances are made by a trigger of the owner's, of a journal's legs.
    "postings": "SELECT",
    "accounts": "SELECT, INSERT, UPDATE (frozen, is_closed)",
    "requests": "SELECT, INSERT",
    "tables": "SELECT, INSERT, UPDATE (is_closed)",
    "holds": "SELECT, INSERT, UPDATE (state)",
    "matches": ("SELECT, INSERT, UPDATE (state, variant, mode, stake, kasa_share, rules_version)"),
    "chain_blocks": "SELECT, INSERT",
    "account_freezes": "SELECT, INSERT (account, is_frozen, changed_ms, actor, reason)",
    "account_closures": "SELECT, INSERT",
    "match_seats": "SELECT, INSERT, UPDATE (is_given_up, penalty, shortfall)",
    "approvals": (
        "SELECT, INSERT (idempotency_key, request_hash, kind, account, chips, reverses, requester, "
        "reason, requested_ms, expires_ms, state), "
        "UPDATE (state, decided_by, decided_ms, decision_reason, journal_id)"
    ),
    "approval_limits": "SELECT, INSERT (chips, since_ms)",
}
"""What the application may do, by table."""


class RoleMissing(Exception):
    """A database URL without a role; name one."""


async def grant_application(owner_url: SecretStr | str, application_url: SecretStr | str) -> None:
    """Give the application's role what it needs and nothing else; no-op where it is the owner.

    Raises ``DatabaseAway``, or ``RoleMissing`` for a URL that names no role.
    """
    owner, role = parse_url(owner_url).username, parse_url(application_url).username
    if role == owner:
        return
    if role is None:
        raise RoleMissing("the database URL names no role to grant anything to: write user@host")
    database = Database(owner_url, connections=1)
    try:
        await database.transact(lambda connection: _grant(connection, role))
    finally:
        await database.close()


def _grant(connection: Connection, role: str) -> None:
    # Two replicas that grant at once would trip over each other's catalogue rows.
    connection.execute(text("SELECT pg_advisory_xact_lock(:id)"), {"id": UPGRADE_LOCK_ID})
    quoted = connection.dialect.identifier_preparer.quote_identifier(role)
    connection.exec_driver_sql(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {quoted}")
    connection.exec_driver_sql(f"GRANT USAGE ON SCHEMA public TO {quoted}")
    for table in sorted(PRIVILEGES.keys() & set(inspect(connection).get_table_names())):
        connection.exec_driver_sql(f"GRANT {PRIVILEGES[table]} ON {table} TO {quoted}")
