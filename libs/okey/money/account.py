"""The accounts of the ledger and their names (M3, M4).

``player:<id>`` is a person's chips, ``escrow:<table>`` the stakes held for a match that has not
started, ``pot:<match>`` what a running match is played for, ``kasa:<table>`` a Çanak table's bowl.
The house's accounts and ``system:issuance``, the only source of chips, may go below zero; the
others never do.
"""

from typing import Final, NewType

from okey.errors import InvalidInput

Account = NewType("Account", str)

HOUSE_RAKE: Final = Account("house:rake")
HOUSE_PENALTY: Final = Account("house:penalty")
HOUSE_UNCLAIMED: Final = Account("house:unclaimed")
HOUSE_BONUS: Final = Account("house:bonus")
HOUSE_BOT_BANK: Final = Account("house:bot_bank")
SYSTEM_ISSUANCE: Final = Account("system:issuance")

SHARED_ACCOUNTS: Final = (
    HOUSE_RAKE,
    HOUSE_PENALTY,
    HOUSE_UNCLAIMED,
    HOUSE_BONUS,
    HOUSE_BOT_BANK,
    SYSTEM_ISSUANCE,
)

_OWNED_KINDS: Final = ("player", "escrow", "pot", "kasa")


class UnknownAccount(InvalidInput):
    """A name is none of the ledger's account names."""

    reason = "UNKNOWN_ACCOUNT"


def player_account(player_id: str) -> Account:
    """The chips of a player."""
    return Account(f"player:{player_id}")


def escrow_account(table_id: str) -> Account:
    """The stakes held at a table for its next match (M1)."""
    return Account(f"escrow:{table_id}")


def pot_account(match_id: str) -> Account:
    """What a running match is played for."""
    return Account(f"pot:{match_id}")


def kasa_account(table_id: str) -> Account:
    """A Çanak table's own bowl (Ç2)."""
    return Account(f"kasa:{table_id}")


def parse_account(name: str) -> Account:
    """The account of this name. Raises ``UnknownAccount`` for a name that no account can have."""
    kind, _, owner = name.partition(":")
    if name in SHARED_ACCOUNTS or (kind in _OWNED_KINDS and owner):
        return Account(name)
    raise UnknownAccount(
        f"{name!r} is no account: ask for player:, escrow:, pot: or kasa: with an id, "
        f"or one of {', '.join(SHARED_ACCOUNTS)}"
    )


def is_balance_kept(account: Account) -> bool:
    """Whether it keeps a balance, never below zero (M3); the shared ones keep postings only."""
    return account not in SHARED_ACCOUNTS


def is_player(account: Account) -> bool:
    """Whether the account belongs to a person."""
    return account.startswith("player:")


def player_of(account: Account) -> str:
    """The player id of a ``player:`` account."""
    return account.removeprefix("player:")
