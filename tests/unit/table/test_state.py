"""What a table's state says of itself."""

from collections.abc import Callable

import pytest

from okey.table.state import seated_players
from tests.factories import (
    Driver,
    dealt,
    nachspiel,
    opened,
    paid,
    paused,
    settling,
    starting,
)


@pytest.mark.parametrize("build", [opened, paid, starting, dealt, paused, settling, nachspiel])
def test_who_sits_is_bound_in_every_phase(build: Callable[[], Driver]) -> None:
    """W3: while the result is with the wallet and in the Nachspiel too."""
    table = build()
    people = {seat.player for seat in table.state.seats if seat.player}
    assert people
    assert seated_players(table.state) == people
