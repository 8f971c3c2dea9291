"""Stakes before and at the start of a match: hold, give back, start (M1, M2, M7, Ç2)."""

from collections.abc import Iterable, Sequence

from okey.errors import InvalidInput
from okey.money.account import (
    HOUSE_BOT_BANK,
    HOUSE_UNCLAIMED,
    SYSTEM_ISSUANCE,
    escrow_account,
    kasa_account,
    player_account,
)
from okey.money.journal import AmountOutOfRange, Journal, JournalKind
from okey.money.match import MatchMoney
from okey.rules.rule_set import LeftoverKasa, RuleSet


class StakeOutOfRange(InvalidInput):
    """A stake outside the rule set's range (Ç1)."""

    reason = "STAKE_OUT_OF_RANGE"


def hold(table_id: str, player_id: str, stake: int, rules: RuleSet) -> Journal:
    """M1: a player's stake goes to the table's escrow. Raises ``StakeOutOfRange`` (Ç1)."""
    if not rules.min_stake <= stake <= rules.max_stake:
        raise StakeOutOfRange(f"stake {stake} is outside {rules.min_stake}..{rules.max_stake} (Ç1)")
    return Journal.of(
        JournalKind.HOLD, [(player_account(player_id), -stake), (escrow_account(table_id), stake)]
    )


def void_hold(table_id: str, player_id: str, stake: int) -> Journal:
    """M1: leaving before the start gives the whole stake back, without penalty."""
    return Journal.of(
        JournalKind.VOID_HOLD,
        [(escrow_account(table_id), -stake), (player_account(player_id), stake)],
    )


def void_open_match(table_id: str, held: Iterable[tuple[str, int]]) -> Journal | None:
    """M10 before the start: every (player, stake) held goes back; None where nothing is held."""
    parts = [(player_account(player), stake) for player, stake in held]
    if not parts:
        return None
    total = sum(stake for _, stake in parts)
    return Journal.of(JournalKind.VOID_MATCH, [(escrow_account(table_id), -total), *parts])


def start_match(match: MatchMoney) -> Journal:
    """M2, Ç2, M7: all stakes become pot and kasa share; the bot bank pays for the house's seats."""
    escrow = escrow_account(match.table_id)
    stakes = [
        (HOUSE_BOT_BANK if seat.payer is None else escrow, -match.stake) for seat in match.seats
    ]
    pot = (match.pot_account, match.pot)
    return Journal.of(JournalKind.START, [*stakes, pot, (match.kasa_account, match.kasa_share)])


def void_match(match: MatchMoney) -> Journal:
    """M10: every stake back to its payer, this match's kasa share out again; penalties stand."""
    refunds = [
        (HOUSE_BOT_BANK if seat.payer is None else player_account(seat.payer), match.stake)
        for seat in match.seats
    ]
    taken = [(match.pot_account, -match.pot), (match.kasa_account, -match.kasa_share)]
    return Journal.of(JournalKind.VOID_MATCH, [*taken, *refunds])


def close_table(table_id: str, kasa: int, stayed: Sequence[str], rules: RuleSet) -> Journal | None:
    """Ç10: a kasa that nobody can win any more goes back; None if it is empty.

    ``stayed`` are the people who played the table's last match to the end and can be paid. They get
    equal parts, ``house:unclaimed`` the odd chips, and all of it where there are none.
    """
    if kasa == 0:
        return None
    heirs = stayed if rules.leftover_kasa is LeftoverKasa.SPLIT else ()
    share = kasa // len(heirs) if heirs else 0
    parts = [(player_account(player), share) for player in heirs]
    odd = (HOUSE_UNCLAIMED, kasa - share * len(heirs))
    return Journal.of(JournalKind.CLOSE_TABLE, [(kasa_account(table_id), -kasa), *parts, odd])


def grant(player_id: str, amount: int, kind: JournalKind = JournalKind.GRANT) -> Journal:
    """M3: chips come into being for a player, by an operator or as the welcome grant.

    Raises ``AmountOutOfRange`` for an amount that is not positive.
    """
    if amount <= 0:
        raise AmountOutOfRange(
            f"a grant of {amount} chips: only a positive amount can be granted (M3)"
        )
    return Journal.of(kind, [(SYSTEM_ISSUANCE, -amount), (player_account(player_id), amount)])


def erase(player_id: str, balance: int) -> Journal | None:
    """What a player had whose id is closed goes to ``house:unclaimed``; None for nothing."""
    if balance == 0:
        return None
    return Journal.of(
        JournalKind.ERASE, [(player_account(player_id), -balance), (HOUSE_UNCLAIMED, balance)]
    )
