"""Rows of draws and discards alone, past which the engine's books are not taken."""

import grpc
import pytest

from okey.table.view import SPECTATOR
from services.engine.accepted import Holds
from services.engine.rating_sink import RatingSink
from services.engine.wallet_sink import WalletSink
from services.engine.wire import viewers_along
from tests.walk import KINDS, Step, table_named, walk


def steps(kind: str) -> list[Step]:
    return [step for seed in range(8) for step in walk(table_named(kind), seed, 60)]


@pytest.mark.parametrize("kind", KINDS)
async def test_nobody_would_hear_of_a_plain_row(kind: str) -> None:
    """M1, W3: no sink is told of it, no stake changes, nobody becomes another viewer by it."""
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        sinks = (WalletSink(channel), RatingSink(channel))
        plain = [step for step in steps(kind) if step.row.is_plain]
        assert len(plain) > 20
        for step in plain:
            assert step.before is not None
            calls = [sink.calls(step.before, step.after, step.row) for sink in sinks]
            assert calls == [[], []]
            assert step.after.seats is step.before.seats
            holds = Holds()
            holds.resume({"hold": "HELD"})
            holds.fold(step.row.events)
            assert holds.verdicts == {"hold": "HELD"}
            for seat, player in enumerate([each.player for each in step.before.seats]):
                for was in (seat, SPECTATOR):
                    viewers = list(viewers_along(step.row.events, player, was))
                    assert viewers == [was] * len(step.row.events)


def test_rows_by_which_something_else_happens_are_not_plain() -> None:
    """A discard that ends the round, a time-out, somebody who comes or goes."""
    for kind in KINDS:
        for step in steps(kind):
            kinds = {type(event).__name__ for event in step.row.events}
            assert step.row.is_plain == (kinds <= {"TurnStarted", "TileDrawn", "TileDiscarded"})
