"""Whole matches, so that a policy that plays worse than it should is noticed. Seeds are fixed."""

from hashlib import sha256

import pytest

from okey.bots.choose import choose
from okey.rules.variant import BotLevel
from okey.simulation.play import Policy, simulate
from okey.table.commands import Action, Discard, Draw, DrawSource
from okey.table.config import TableConfig
from okey.table.legal import LegalAction
from okey.table.view import TableView

pytestmark = pytest.mark.deep

FOR_TWO = TableConfig("t" * 26, seat_count=2)


def at(level: BotLevel) -> Policy:
    return lambda view, _level, _is_stand_in, seed: choose(view, level, False, seed)


def careless(view: TableView, level: BotLevel, is_stand_in: bool, seed: int) -> Action:
    """Draws from the stock and discards any tile."""
    if LegalAction.DISCARD not in view.legal_actions:
        return Draw(DrawSource.STOCK)
    assert view.round is not None
    rack = view.round.rack
    return Discard(rack[sha256(str(seed).encode()).digest()[0] % len(rack)])


def wins(first: Policy, second: Policy, matches: int) -> tuple[int, int]:
    """How many matches of two seats each of them wins."""

    def policy(view: TableView, level: BotLevel, is_stand_in: bool, seed: int) -> Action:
        return (first, second)[view.viewer](view, level, is_stand_in, seed)

    report = simulate(FOR_TWO, matches, 5, policy)
    return report.wins_by_seat[0], report.wins_by_seat[1]


def test_normal_always_beats_who_does_not_think() -> None:
    assert wins(at(BotLevel.NORMAL), careless, 10) == (10, 0)


def test_normal_plays_better_than_easy() -> None:
    """W4: the levels differ in how well they play."""
    normal, easy = wins(at(BotLevel.NORMAL), at(BotLevel.EASY), 40)
    assert normal >= 24
    assert normal + easy == 40
