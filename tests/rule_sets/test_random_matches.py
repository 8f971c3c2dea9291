"""Random matches of every kind by the newest rules: no chip is made or lost, and each account holds
what plain arithmetic says.
"""

from collections import Counter
from itertools import count

import pytest

from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Mode, Variant
from okey.table import events as e
from tests.matches import KINDS, Played, play
from tests.plain_money import PlainBooks

QUICK, LONG = 60, 5_000
"""Matches of each kind."""


def check(played: Played) -> None:
    """Everything that must hold of a table once it is closed."""
    config, balances = played.config, played.balances
    books = PlainBooks(
        config.table_id,
        config.stake,
        is_canak=config.variant is Variant.CANAK,
        is_esli=config.mode is Mode.ESLI,
    )
    books.welcome(played.welcomed)
    for event in played.events:
        books.take(event)
        if isinstance(event, e.MatchEnded):
            assert event.kasa == books.kasa, "the table's own kasa"
    assert sum(balances.values()) == 0, "M3"
    left = {name for name in balances if name.startswith(("pot:", "kasa:", "escrow:"))}
    assert not any(balances[name] for name in left)
    assert {n: c for n, c in balances.items() if c} == {n: c for n, c in books.chips.items() if c}


def check_matches(kind: str, least: int) -> Counter[str]:
    """Play and check tables of the kind until this many matches ended; what they showed."""
    seen: Counter[str] = Counter()
    for seed in count(1_000):
        played = play(kind, seed, DEFAULT_RULE_SET)
        check(played)
        for event in played.events:
            seen[type(event).__name__] += 1
            if isinstance(event, e.MatchEnded):
                seen[event.kind.name] += 1
                gave_up = event.winner >= 0 and event.departures[event.winner].name != "STAYED"
                seen["won by a given-up seat"] += gave_up
                seen["tie-break won"] += event.is_tie_break
        if seen["MatchEnded"] >= least:
            return seen
    raise AssertionError("unreachable")


@pytest.mark.parametrize("kind", KINDS)
def test_random_matches_are_settled_to_the_chip(kind: str) -> None:
    """M3, M4, Ç10, Ç11, K7, K9, M6, M8."""
    seen = check_matches(kind, QUICK)
    assert seen["SeatForfeited"]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_five_thousand_random_matches_of_each_kind(kind: str) -> None:
    """The same for thousands, which show every ending that the kind knows."""
    seen = check_matches(kind, LONG)
    assert seen["HOUSE_WIN"]
    if KINDS[kind].variant is Variant.KLASIK:
        assert seen["MatchClaimed"]
        # Of two, one has points left and the other none: only four can share the highest.
        assert bool(seen["tie-break won"]) is (kind == "klasik-4")
        assert not seen["won by a given-up seat"]
    else:
        assert seen["CANAK_DRAW"]
        if KINDS[kind].mode is not Mode.SOLO:
            assert seen["won by a given-up seat"]
