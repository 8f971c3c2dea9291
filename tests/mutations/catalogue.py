"""The safeguards of ledger and fence: the edit that takes each out, and the test that misses it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Mutation:
    """One edit: ``before`` stands exactly once in ``path`` and becomes ``after``."""

    name: str
    path: str
    before: str
    after: str
    test: str
    """The test that must go red, as pytest names it."""


_STAKES = "tests/contract/test_wallet_stakes.py::"
_OUTCOMES = "tests/contract/test_wallet_outcomes.py::"
_KEYS = "tests/contract/test_wallet_keys.py::"
_RACES = "tests/contract/test_wallet_races.py::"
_SEALS = "tests/contract/test_wallet_seals.py::"
_ERASURE = "tests/contract/test_wallet_erasure.py::"
_APPROVALS = "tests/contract/test_wallet_approvals.py::"
_WATCH = "tests/contract/test_wallet_event_watch.py::"
_APPROVAL = "services/wallet/approvals.py"
_OWNERS = "tests/unit/engine/test_owners.py::"
_BOOKS = "services/wallet/books.py"
_STATES = "services/wallet/states.py"
_POSTGRESQL = "services/wallet/migrations/seals/postgresql.sql"
_SQLITE = "services/wallet/migrations/seals/sqlite.sql"

MUTATIONS: Final = (
    Mutation(
        "one operator moves any number of chips",
        "services/wallet/wallet.py",
        "            require_within_limit(books, command, receipt)\n",
        "            pass\n",
        f"{_APPROVALS}test_above_the_limit_nothing_is_booked_and_a_request_waits",
    ),
    Mutation(
        "each call has the limit for itself",
        _APPROVAL,
        "    if moved > limit:\n",
        "    if abs(leg.amount) > limit:\n",
        f"{_APPROVALS}test_many_small_grants_count_together",
    ),
    Mutation(
        "a key that waits is booked alone later",
        "services/wallet/wallet.py",
        "        if isinstance(command, _BY_OPERATORS) and refuse_undecided(\n",
        "        if False and refuse_undecided(\n",
        f"{_APPROVALS}test_a_key_that_waits_is_never_booked_alone",
    ),
    Mutation(
        "operators approve their own requests",
        _APPROVAL,
        "    if operator == found.requester:\n",
        "    if False:\n",
        f"{_APPROVALS}test_nobody_approves_its_own_request",
    ),
    Mutation(
        "requests never expire",
        _APPROVAL,
        "    if state is State.REQUESTED and row.expires_ms <= now_ms:\n",
        "    if False:\n",
        f"{_APPROVALS}test_after_its_time_a_request_is_refused",
    ),
    Mutation(
        "an altered request is booked",
        _APPROVAL,
        "        if fingerprint(asked) != self.request_hash:\n",
        "        if False:\n",
        f"{_APPROVALS}test_an_altered_request_is_not_booked",
    ),
    Mutation(
        "the audit minds no limit",
        "services/wallet/approvals_audit.py",
        "        if limit is not None and moved > limit:\n",
        "        if False:\n",
        f"{_APPROVALS}test_the_audit_finds_what_was_booked_above_the_limit",
    ),
    Mutation(
        "PostgreSQL: a decided request is decided again",
        "services/wallet/migrations/seals/approvals_postgresql.sql",
        "    IF OLD.state <> 'requested' OR NEW.state = 'requested' OR",
        "    IF NEW.state = 'requested' OR",
        f"{_APPROVALS}test_the_database_itself_keeps_approvals",
    ),
    Mutation(
        "PostgreSQL: one operator is enough",
        "services/wallet/migrations/seals/approvals_postgresql.sql",
        "    IF NEW.state = 'approved' AND (\n",
        "    IF false AND (\n",
        f"{_APPROVALS}test_the_database_itself_keeps_approvals",
    ),
    Mutation(
        "PostgreSQL: a key that waits is booked",
        "services/wallet/migrations/seals/approvals_postgresql.sql",
        "            AND (state <> 'approved' OR journal_id IS DISTINCT FROM NEW.journal_id)\n",
        "            AND false\n",
        f"{_APPROVALS}test_the_database_itself_keeps_approvals",
    ),
    Mutation(
        "SQLite: one operator is enough",
        "services/wallet/migrations/seals/approvals_sqlite.sql",
        "WHEN NEW.state = 'approved' AND (\n",
        "WHEN false AND (\n",
        f"{_APPROVALS}test_the_database_itself_keeps_approvals",
    ),
    Mutation(
        "the watch believes any answer under an event's key",
        "services/wallet/event_watch.py",
        " if hashes[row.idempotency_key] == row.request_hash}",
        "}",
        f"{_WATCH}test_an_answer_to_other_content_is_no_answer",
    ),
    Mutation(
        "requests name the house as a player",
        "libs/okey_runtime/validation.py",
        "        refuse_reserved(player)\n",
        "        pass\n",
        "tests/security/test_reserved_players.py::test_no_request_names_a_reserved_id",
    ),
    Mutation(
        "a closed account takes a stake",
        _BOOKS,
        "        if self._known(account).is_closed:\n",
        "        if self._known(account).is_closed and False:\n",
        f"{_ERASURE}test_chips_become_unclaimed_and_the_account_stays_closed",
    ),
    Mutation(
        "an account is closed whatever is held",
        "services/wallet/erasure.py",
        "    for what in _held(connection, asked.player_id):\n",
        "    for what in ():\n",
        f"{_ERASURE}test_who_holds_something_is_refused_until_it_is_over",
    ),
    Mutation(
        "a closed account gets its welcome",
        "services/wallet/erasure.py",
        "replace(house, welcome_chips=0)",
        "replace(house)",
        f"{_ERASURE}test_one_that_was_never_used_gets_no_welcome_grant_any_more",
    ),
    Mutation(
        "without the row lock",
        _BOOKS,
        "    .order_by(accounts.c.account)\n    .with_for_update()\n",
        "    .order_by(accounts.c.account)\n",
        f"{_RACES}test_a_hundred_spend_the_same_chips",
    ),
    Mutation(
        "without the sorted order",
        _BOOKS,
        "    .order_by(accounts.c.account)\n",
        "",
        f"{_RACES}test_accounts_are_locked_by_name_whatever_the_plan",
    ),
    Mutation(
        "a match moves whatever its state",
        _STATES,
        'matches.c.state == bindparam("before"))\n',
        'matches.c.state.concat("?") != bindparam("before"))\n',
        f"{_RACES}test_refunds_race_payouts",
    ),
    Mutation(
        "a hold is given back whatever its state",
        _STATES,
        "        .where(holds.c.hold_id == hold_id, holds.c.state == HoldState.HELD)\n",
        "        .where(holds.c.hold_id == hold_id)\n",
        f"{_KEYS}test_giving_a_stake_back_racing_the_start_lets_one_through",
    ),
    Mutation(
        "a hold pays whatever its state",
        _STATES,
        "            holds.c.stake == stake,\n            holds.c.state == HoldState.HELD,\n",
        "            holds.c.stake == stake,\n",
        f"{_STAKES}test_a_match_starts_with_all_or_nobody",
    ),
    Mutation(
        "a seat is given up twice",
        "services/wallet/running.py",
        "    if owner is None:\n",
        "    owner = owner or running.money.seats[asked.seat].payer\n    if owner is None:\n",
        f"{_OUTCOMES}test_giving_up_costs_half_the_stake",
    ),
    Mutation(
        "without the hash check",
        "services/wallet/receipt.py",
        "    if row.request_hash != fingerprint(command):\n",
        "    if False:\n",
        f"{_KEYS}test_a_key_with_other_content_is_refused",
    ),
    Mutation(
        "without the key",
        "services/wallet/wallet.py",
        "        if known is not None:\n            return known\n        receipt",
        "        receipt",
        f"{_KEYS}test_the_same_key_gets_the_same_answer",
    ),
    Mutation(
        "declines are forgotten",
        "services/wallet/wallet.py",
        "            return await self._decline(request, decline, in_lane=in_lane)\n",
        "            return decline\n",
        f"{_KEYS}test_a_decline_is_final_for_its_key",
    ),
    Mutation(
        "without the table's lock",
        _STATES,
        "    .order_by(tables.c.table_id)\n    .with_for_update()\n",
        "    .order_by(tables.c.table_id)\n",
        f"{_KEYS}test_a_table_closing_while_someone_joins",
    ),
    Mutation(
        "PostgreSQL takes any sum",
        _POSTGRESQL,
        " AND sum(leg.amount) = 0\n",
        "\n",
        f"{_SEALS}test_a_journal_that_does_not_add_up_is_refused",
    ),
    Mutation(
        "SQLite takes any sum",
        _SQLITE,
        "            AND sum(value) = 0\n",
        "",
        f"{_SEALS}test_a_journal_that_does_not_add_up_is_refused",
    ),
    Mutation(
        "PostgreSQL lets balances be edited",
        _POSTGRESQL,
        "        OR (NEW.version = OLD.version + 1 AND EXISTS (\n",
        "        OR (NEW.version >= 0 OR EXISTS (\n",
        f"{_SEALS}test_what_is_booked_stays",
    ),
    Mutation(
        "SQLite lets OR REPLACE through",
        _SQLITE,
        "WHEN EXISTS (SELECT 1 FROM requests WHERE idempotency_key = NEW.idempotency_key)\n",
        "WHEN 0\n",
        f"{_SEALS}test_sqlites_own_ways_are_closed",
    ),
    Mutation(
        "the wallet's role may write postings",
        "services/wallet/privileges.py",
        '    "postings": "SELECT",\n',
        '    "postings": "SELECT, INSERT, UPDATE",\n',
        f"{_SEALS}test_the_wallets_role_reads_and_adds",
    ),
    Mutation(
        "a row whose place is taken counts",
        "services/engine/appending.py",
        "    return {row.table_id for row in batch} - written\n",
        "    return set()\n",
        f"{_OWNERS}test_an_old_owner_between_deciding_and_appending_is_refused",
    ),
    Mutation(
        "tables are made whoever owns their shard",
        "services/engine/appending.py",
        "        .where(shards.c.owner.is_(None) | (shards.c.owner == engine))\n",
        "",
        f"{_OWNERS}test_no_table_is_made_behind_the_new_owners_back",
    ),
)
