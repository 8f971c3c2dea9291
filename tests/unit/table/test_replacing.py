"""Copies of a table's values with some fields changed: as the standard library makes them."""

import dataclasses
from collections.abc import Callable

import pytest

from okey.table.replacing import replace
from okey.table.state import Hand, Phase, TableState
from tests.factories import dealt


def parts(state: TableState) -> list[object]:
    """One value of each kind that a state is made of."""
    assert state.round is not None
    assert state.round.turn is not None
    assert state.match is not None
    return [state, state.seats[0], state.match, state.round, state.round.hands[1], state.round.turn]


def test_a_copy_without_changes_is_equal_and_another_value() -> None:
    unchecked: Callable[..., object] = replace
    for value in parts(dealt().state):
        copy = unchecked(value)
        assert copy == value
        assert copy is not value
        assert type(copy) is type(value)
        assert hash(copy) == hash(value)


def test_the_named_fields_change_and_no_other() -> None:
    state = dealt().state
    changed = replace(state, phase=Phase.PAUSE, last_turn=7)
    assert changed == dataclasses.replace(state, phase=Phase.PAUSE, last_turn=7)
    assert (state.phase, state.last_turn) == (Phase.PLAYING, 1)


def test_a_field_that_is_not_there_is_refused() -> None:
    unchecked: Callable[..., Hand] = replace
    with pytest.raises(TypeError, match="Hand has no field stack"):
        unchecked(Hand(), stack=())
