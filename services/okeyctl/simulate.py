"""``okeyctl simulate``: whole matches in this process, the same for the same seed."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.table import Table

from okey.bots.choose import choose
from okey.rules.finish import FinishKind
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import BotLevel, Mode, Variant
from okey.simulation.play import Policy, Report, simulate
from okey.table.commands import Action
from okey.table.config import TableConfig, check_config
from okey.table.reasons import OutcomeKind
from okey.table.view import TableView

# The simulation names its tables itself.
_ANY_TABLE: Final = "simulation"


@dataclass(frozen=True, slots=True)
class Wish:
    """What to play: ``start_points`` counts in Klasik, None is its default (K1); stake in chips."""

    variant: Variant
    seats: int
    mode: Mode
    matches: int
    seed: int
    stake: int = DEFAULT_RULE_SET.default_stake
    start_points: int | None = None


def play(wish: Wish, on_match: Callable[[int], None] | None = None) -> Report:
    """Play; ``on_match`` hears how many matches have begun.

    Raises:
        InvalidTableConfig: the wish contradicts the rules, such as a solo Klasik (K1).
    """
    points = wish.start_points
    if points is None:
        points = DEFAULT_RULE_SET.default_start_points if wish.variant is Variant.KLASIK else 0
    config = TableConfig(
        _ANY_TABLE, wish.variant, wish.mode, wish.seats, wish.stake, start_points=points
    )
    check_config(config)
    policy = choose if on_match is None else _counting(on_match)
    return simulate(config, wish.matches, wish.seed, policy)


def as_json(wish: Wish, report: Report) -> str:
    """The report as one JSON object; every counter that could be is there, in a fixed order."""
    document = {
        "variant": wish.variant.name.lower(),
        "mode": wish.mode.name.lower(),
        "seats": wish.seats,
        "seed": wish.seed,
        "matches": report.matches,
        "rounds": report.rounds,
        "moves": report.moves,
        "outcomes": outcomes(wish, report),
        "finishes": {kind.name: report.finishes[kind.name] for kind in FinishKind},
        "wins_by_seat": {str(seat): report.wins_by_seat[seat] for seat in range(wish.seats)},
        "chips": chips(report),
        "sum": report.total,
    }
    return json.dumps(document, indent=2)


def show(wish: Wish, report: Report, console: Console) -> None:
    """The report as tables for a person."""
    kind = f"{wish.variant.name.lower()} {wish.mode.name.lower()}, {wish.seats} seats"
    counts = Table("what", "how often", title=f"{report.matches} matches, {kind}")
    for name, count in outcomes(wish, report).items():
        counts.add_row(name, str(count))
    for finish in FinishKind:
        counts.add_row(f"finish {finish.name}", str(report.finishes[finish.name]))
    for seat in range(wish.seats):
        counts.add_row(f"wins of seat {seat}", str(report.wins_by_seat[seat]))
    counts.add_row("rounds", str(report.rounds))
    counts.add_row("moves", str(report.moves))
    console.print(counts)
    balances = Table("account", "chips", title="Chips")
    for account, amount in chips(report).items():
        balances.add_row(account, f"{amount:,}")
    console.print(balances)
    console.print(f"all accounts together: {report.total} chips")


def outcomes(wish: Wish, report: Report) -> dict[str, int]:
    """How often a match of the variant ended which way; a house win is possible in both."""
    own = f"{wish.variant.name}_"
    return {
        kind.name: report.outcomes[kind.name]
        for kind in OutcomeKind
        if kind.name.startswith(own) or kind is OutcomeKind.HOUSE_WIN
    }


def chips(report: Report) -> dict[str, int]:
    """Chips by account, none of them zero; a table's or match's own accounts as one sum a kind."""
    found: Counter[str] = Counter()
    for account, amount in report.balances.items():
        kind, _, _ = account.partition(":")
        is_passing = kind in ("escrow", "pot", "kasa")
        found[f"{kind}:*" if is_passing else account] += amount
    return {account: amount for account, amount in sorted(found.items()) if amount}


def show_progress(total: int) -> Callable[[int], None] | None:
    """A counter on stderr for a person; None where nobody sits there."""
    if not sys.stderr.isatty():
        return None

    def show(begun: int) -> None:
        end = "\n" if begun == total else ""
        sys.stderr.write(f"\rmatch {begun} of {total}{end}")
        sys.stderr.flush()

    return show


def _counting(on_match: Callable[[int], None]) -> Policy:
    begun = 0
    newest = ""

    def policy(view: TableView, level: BotLevel, is_stand_in: bool, seed: int) -> Action:
        nonlocal begun, newest
        if view.match_id != newest:
            newest = view.match_id
            begun += 1
            on_match(begun)
        return choose(view, level, is_stand_in, seed)

    return policy
