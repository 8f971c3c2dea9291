"""Account names: who can have chips."""

import pytest

from okey.money import account
from okey.money.account import Account, UnknownAccount, parse_account


@pytest.mark.parametrize(
    "name",
    [
        account.player_account("ayse"),
        account.escrow_account("t1"),
        account.pot_account("t1-1"),
        account.kasa_account("t1"),
        *account.SHARED_ACCOUNTS,
    ],
)
def test_every_account_name_parses_to_itself(name: Account) -> None:
    """M3: these are all the accounts there are."""
    assert parse_account(name) == name


@pytest.mark.parametrize("name", ["", "player:", "house:owner", "bank:x", "system:", "ayse"])
def test_another_name_is_refused_and_quoted(name: str) -> None:
    """M3: chips cannot lie anywhere else."""
    with pytest.raises(UnknownAccount, match=repr(name)):
        parse_account(name)


def test_only_the_shared_accounts_may_go_below_zero() -> None:
    """M3: the house and the issuance keep no balance that could hold a settlement up."""
    assert not any(account.is_balance_kept(each) for each in account.SHARED_ACCOUNTS)
    assert account.is_balance_kept(account.kasa_account("t1"))


def test_a_players_account_names_the_player() -> None:
    """M3: ids may contain the separator themselves."""
    name = account.player_account("idp:42")
    assert account.is_player(name)
    assert account.player_of(name) == "idp:42"
    assert not account.is_player(account.HOUSE_RAKE)
